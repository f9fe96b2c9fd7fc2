internal import CWebImageGtk4
import Dispatch
import GtkWebImage
import GtkWebImageWidgets
import Synchronization
import WebImageTesting

extension Scenario {
    static let mainLoop: [Scenario] = [
        Scenario("Work from many threads runs on the main thread, in order for each thread") {
            let log = EventLog<(thread: Int, number: Int, isMain: Bool)>()
            for thread in 0..<8 {
                DispatchQueue.global().async {
                    for number in 0..<500 {
                        MainLoopDispatcher.shared.dispatch {
                            log.add((thread, number, MainLoopDispatcher.shared.isCurrent))
                        }
                    }
                }
            }
            expect(MainLoopPump.run(until: { log.all.count == 4000 }))
            expect(log.all.allSatisfy(\.isMain), "something ran on another thread")
            for thread in 0..<8 {
                expectEqual(log.all.filter { $0.thread == thread }.map(\.number), Array(0..<500), "thread \(thread)")
            }
        },

        Scenario("A flood of deliveries leaves time for drawing") {
            // Given more work than fits into one main-loop iteration, and a source with the priority of redrawing
            let log = EventLog<String>()
            for _ in 0..<400 {
                MainLoopDispatcher.shared.dispatch {
                    let end = g_get_monotonic_time() + 100
                    while g_get_monotonic_time() < end {}
                    log.add("delivery")
                }
            }
            let box = Unmanaged.passRetained(log).toOpaque()
            g_idle_add_full(
                120,
                { box in
                    Unmanaged<EventLog<String>>.fromOpaque(box!).takeRetainedValue().add("redraw")
                    return 0
                },
                box,
                nil
            )
            // Then that source runs before the last of the work
            expect(MainLoopPump.run(until: { log.all.count == 401 }))
            let position = try require(log.all.firstIndex(of: "redraw"))
            expect(position > 0 && position < 100, "drawn after \(position) deliveries")
        },

        Scenario("Nothing is delivered while the main loop does not run, not even on another thread") {
            let log = EventLog<Int>()
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                for number in 0..<100 { MainLoopDispatcher.shared.dispatch { log.add(number) } }
                done.signal()
            }
            done.wait()
            expectEqual(log.all.count, 0)
            expect(MainLoopPump.run(until: { log.all.count == 100 }))
        },

        Scenario("The main actor and the main queue work under a GLib main loop") {
            _ = MainLoopDispatcher.shared
            let log = EventLog<String>()
            let loop = g_main_loop_new(nil, 0)
            let address = UInt(bitPattern: loop)
            Task { @MainActor in
                log.add("task \(MainLoopDispatcher.shared.isCurrent)")
                try await Task.sleep(for: .milliseconds(5))
                log.add("slept \(MainLoopDispatcher.shared.isCurrent)")
                let sum = await Task.detached { (0..<10).reduce(0, +) }.value
                log.add("detached \(sum) \(MainLoopDispatcher.shared.isCurrent)")
                DispatchQueue.main.async {
                    log.add("queue \(MainLoopDispatcher.shared.isCurrent)")
                    g_main_loop_quit(OpaquePointer(bitPattern: address))
                }
            }
            g_main_loop_run(loop)
            g_main_loop_unref(loop)
            expectEqual(log.all, ["task true", "slept true", "detached 45 true", "queue true"])
        },

        Scenario("A thousand hops between the main actor and other threads all arrive") {
            _ = MainLoopDispatcher.shared
            let log = EventLog<Int>()
            Task { @MainActor in
                for number in 0..<1000 { log.add(await Task.detached { number }.value) }
            }
            expect(MainLoopPump.run(until: { log.all.count == 1000 }))
            expectEqual(log.all, Array(0..<1000))
        },

        Scenario("Async code can await an image inside g_application_run") {
            let server = try LocalImageServer(handler: Stage.answer)
            var configuration = ImageManager.Configuration()
            configuration.diskCache = nil
            ImageManager.shared = ImageManager(configuration: configuration)
            let log = EventLog<String>()
            let application = gtk_application_new("org.gtkwebimage.Test", gwi_application_non_unique)!
            let app = application.as(GApplication.self)
            let url = server.url("/336699/64x48.png")
            onActivate(app) {
                let window = gtk_application_window_new(application)!
                let picture = Picture()
                gtk_window_set_child(window.as(GtkWindow.self), picture.widget)
                gtk_window_present(window.as(GtkWindow.self))
                Task { @MainActor in
                    do throws(ImageError) {
                        let response = try await picture.setImage(with: url).response
                        log.add("\(response.image.naturalSize) \(MainLoopDispatcher.shared.isCurrent)")
                        log.add("\(picture.currentImage == response.image)")
                        _ = try await ImageManager.shared.image(for: server.url("/missing.png"))
                    } catch {
                        log.add("status \(error.httpStatus ?? 0) \(MainLoopDispatcher.shared.isCurrent)")
                    }
                    g_application_quit(g_application_get_default())
                }
            }
            expectEqual(g_application_run(app, 0, nil), 0)
            expectEqual(log.all, ["64x48 true", "true", "status 404 true"])
        },
    ]

    @MainActor
    private static func onActivate(_ app: UnsafeMutablePointer<GApplication>, _ body: @escaping @MainActor () -> Void) {
        let box = Unmanaged.passRetained(Closure(body)).toOpaque()
        let callback: @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void = { _, box in
            let closure = Unmanaged<Closure>.fromOpaque(box).takeUnretainedValue()
            MainActor.assumeIsolated { closure.body() }
        }
        g_signal_connect_data(
            app,
            "activate",
            unsafeBitCast(callback, to: GCallback.self),
            box,
            nil,
            GConnectFlags(rawValue: 0)
        )
    }
}

@MainActor
private final class Closure {
    let body: @MainActor () -> Void

    init(_ body: @escaping @MainActor () -> Void) {
        self.body = body
    }
}
