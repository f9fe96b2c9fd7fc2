internal import CWebImageGtk4
import Dispatch
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import Logging
import Synchronization
import TestSupport
import WebImageTesting

/// Keeps the messages of the library.
private struct RecordingHandler: LogHandler {
    let log: EventLog<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        log.add("\(event.message)")
    }
}

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

        Scenario(
            "The desktop's module for proxies is loaded on the main thread, which may be within a dlopen of libsoup"
        ) {
            for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }
            func hasModule() -> Bool {
                (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8))?.contains("proxy.so") == true
            }
            func threads() -> [String] {
                let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
                return numbers.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
            }
            guard !hasModule() else { throw Skipped(reason: "GTK has loaded a module for proxies") }
            // Given a load that waits for its proxy while the main thread does something else
            let stage = try Stage()
            let ended = Mutex(false)
            _ = stage.manager.load(stage.url(0x336699), on: InlineDispatcher()) { _ in ended.withLock { $0 = true } }
            let waits = EventLog<Int>.poll { threads().contains("gwi-proxy\n") && !threads().contains("gwi-setup\n") }
            expect(waits)
            // Then no thread has loaded the module
            expect(!hasModule() && !ended.withLock { $0 })
            // And the load goes on with the main loop.
            expect(MainLoopPump.run(until: { ended.withLock { $0 } }))
            guard hasModule() else { throw Skipped(reason: "No module for proxies is installed") }
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

        Scenario("A task of the main actor runs under the GLib main loop before anything of the library is used") {
            // Given a program that has only started a task
            let loop = g_main_loop_new(nil, 0)
            let address = UInt(bitPattern: loop)
            let log = EventLog<String>()
            Task { @MainActor in
                await Task.detached {}.value
                log.add("task")
                DispatchQueue.main.async {
                    log.add("queue")
                    g_main_loop_quit(OpaquePointer(bitPattern: address))
                }
            }
            let end: GSourceFunc = { loop in
                g_main_loop_quit(OpaquePointer(loop))
                return 0
            }
            let timer = g_timeout_add(10_000, end, UnsafeMutableRawPointer(loop))
            // When the main loop runs
            g_main_loop_run(loop)
            g_source_remove(timer)
            g_main_loop_unref(loop)
            // Then the task ran, and the public call changes nothing
            expectEqual(log.all, ["task", "queue"])
            MainActorBridge.install()
            MainActorBridge.install()
            Task { @MainActor in log.add("again") }
            expect(MainLoopPump.run(until: { log.all.count == 3 }))
        },

        Scenario("The main actor runs again after another thread has run the default main context") {
            let messages = EventLog<String>()
            WebImageLog.logger = Logger(label: "test") { _ in RecordingHandler(log: messages) }
            MainActorBridge.install()
            for round in 1...2 {
                // Given work for the main actor
                let log = EventLog<String>()
                Task { @MainActor in log.add("task") }
                // When another thread runs the default main context, then it does not spin
                let turns = EventLog<Bool>()
                DispatchQueue.global().async {
                    for _ in 0..<20 { turns.add(g_main_context_iteration(nil, 0) != 0) }
                }
                expect(turns.wait { $0.count == 20 })
                // in each of which there would be something to do
                expect(turns.all.suffix(10).contains(false), "turns in round \(round)")
                expectEqual(log.all, [])
                // and the work runs once the main thread runs the context
                expect(MainLoopPump.run(until: { log.all == ["task"] }), "round \(round)")
            }
            // and the log names the mistake once
            expectEqual(messages.all.filter { $0.contains("main thread") }.count, 1)
        },

        Scenario("Code that awaits the image of a widget that is never mapped gets an error when the widget goes") {
            ImageManager.shared = .testing(FakeLoader())
            var picture: Picture? = Picture()
            let load = try require(picture).setImage(with: URL(string: "https://example.org/a.png"))
            let ends = EventLog<ImageError.Code?>()
            for _ in 0..<2 {
                Task {
                    do throws(ImageError) {
                        _ = try await load.response
                        ends.add(nil)
                    } catch {
                        ends.add(error.code)
                    }
                }
            }
            expect(settle())
            expectEqual(ends.all, [])
            picture = nil
            expect(MainLoopPump.run(until: { ends.all.count == 2 }))
            expectEqual(ends.all, [.cancelled, .cancelled])
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

    /// Runs the tasks of the main actor and the deliveries that are due.
    @MainActor
    private static func settle() -> Bool {
        let log = EventLog<Int>()
        Task { MainLoopDispatcher.shared.dispatch { log.add(0) } }
        return MainLoopPump.run(until: { !log.all.isEmpty })
    }

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
