internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import GtkWebImageInspector
import GtkWebImageWidgets
import Synchronization
import TestSupport
import WebImageTesting

extension Scenario {
    /// What the inspector knows of loads.
    static let inspector: [Scenario] = [
        Scenario("The inspector has each stage of a load with its time, the bytes, the sizes and the header fields") {
            let file = TestImage.quarters(size: PixelSize(width: 400, height: 300))
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/png")
                response.headers += [("Cache-Control", "max-age=60"), ("Set-Cookie", "session=hush")]
                return response
            }
            let picture = stage.addImage()
            let inspector = stage.openInspector()
            let url = stage.server.url("/a.png?token=hush")
            picture.setImage(
                with: ImageRequest(url: url, transformer: .circle()),
                completion: stage.completion
            )
            stage.waitForResults(1)
            let line = try stage.waitForLine(of: inspector) { $0.sourceName == "Network" }
            let stages = line.spans.map(\.stage)
            for stage in [LoadStage.memory, .disk, .waiting, .transfer, .decode, .transform, .shown] {
                expect(stages.contains(stage), "\(stage.rawValue) is missing in \(stages)")
            }
            let end = try require(line.end)
            for span in line.spans {
                expect(span.start >= line.start && span.end <= end && span.start <= span.end, "\(span) is outside")
            }
            let total = line.spans.reduce(Duration.zero) { $0 + $1.duration }
            expect(total > .zero && total <= end - line.start + .milliseconds(5), "\(total) of \(end - line.start)")
            expectEqual(line.metrics?.receivedByteCount, Int64(file.count))
            expectEqual(line.pixelSize, stage.results.first.flatMap { try? $0.get().image.pixelSize })
            // The circle is cut out of the middle.
            expectEqual(line.naturalSize, PixelSize(width: 300, height: 300))
            // The details have what helps, and no secret.
            inspector.openLine(line.id)
            let details = try require(inspector.state?.details)
            for part in [
                "300 × 300", "max-age=60", "Status: 200", "set-cookie: (hidden)", "Decode: ", "/a.png?token=…",
            ] {
                expect(details.contains(part), "\(part) is missing in \(details)")
            }
            expect(!details.contains("hush"), details)
        },

        Scenario("An inspector whose window is gone stays closed") {
            let stage = try Stage()
            stage.present()
            let window = gtk_window_new()!
            let inspector = ImageInspector.install(in: WidgetPointer(window), manager: stage.manager)
            gtk_window_present(window.as(GtkWindow.self))
            expect(MainLoopPump.run(until: { gtk_widget_get_realized(window) != 0 }))
            inspector.isOpen = true
            expect(inspector.isOpen)
            gtk_window_destroy(window.as(GtkWindow.self))
            expect(!inspector.isOpen)
            inspector.isOpen = true
            inspector.toggle()
            expect(!inspector.isOpen)
        },

        Scenario("The inspector tells images from memory, from disk and from the network apart") {
            let stage = try Stage()
            let inspector = stage.openInspector()
            for count in 1...3 {
                let picture = stage.addImage()
                picture.setImage(with: stage.url(0x336699), completion: stage.completion)
                stage.waitForResults(count)
                stage.waitUntilIdle()
                if count == 2 {
                    // Images that are shown are found in memory, however little it keeps.
                    for shown in stage.pictures { shown.clearImage() }
                    stage.manager.cache.removeAllFromMemory()
                    expect(MainLoopPump.run(until: { stage.manager.pendingWorkCount == 0 }))
                }
            }
            expect(MainLoopPump.run(until: { inspector.state?.lines.filter { !$0.isRunning }.count == 3 }))
            let lines = inspector.state?.lines ?? []
            expectEqual(lines.map(\.sourceName), ["Network", "Memory", "Disk"])
            expectEqual(lines.dropFirst().first?.spans.map(\.stage), [.memory])
            expect(lines.last?.duration(of: .disk) ?? .zero > .zero, "reading took no time")
            expectEqual(inspector.state?.rows.count, 3)
        },

        Scenario("The inspector shows the attempts of a load that fails, its error and its remedy") {
            let stage = try Stage { _ in
                .status(503)
            } configure: {
                $0.retryPolicy = ImageRetryPolicy()
                $0.retryPolicy.initialDelay = .milliseconds(10)
            }
            let picture = stage.addImage()
            let inspector = stage.openInspector()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            let line = try stage.waitForLine(of: inspector) { $0.sourceName == "Failed" }
            expectEqual(line.retries.count, 2)
            inspector.openLine(line.id)
            let details = try require(inspector.state?.details)
            let error = try require(stage.results.first?.error)
            let history = try require(error.report.firstIndex(of: "\n").map { String(error.report[$0...].dropFirst()) })
            expect(details.hasPrefix("Problems\n  Error: \(error.reason)"), details)
            for part in ["Attempt 1: ", "Attempt 2: ", "badStatus", error.remedy, "Status: 503", history] {
                expect(details.contains(part), "\(part) is missing in \(details)")
            }
        },

        Scenario("The inspector does not mix up loads of the same URL at different sizes") {
            // Given a large image whose load is held, and a small one of the same URL in memory
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let url = stage.url(0x336699, "400x300")
            let inspector = stage.openInspector()
            let large = stage.manager.load(url, completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            stage.manager.cache.store(solid(0x336699), for: ImageRequest(url: url), in: .memory)
            stage.manager.load(url, completion: stage.completion)
            stage.waitForResults(1)
            // Then only that one has ended
            expect(
                MainLoopPump.run(until: {
                    inspector.state?.lines.count == 2 && inspector.state?.lines.last?.isRunning == false
                })
            )
            expectEqual(inspector.state?.lines.map(\.sourceName), ["Loading", "Memory"])
            large.cancel()
            stage.waitForResults(2)
            expect(MainLoopPump.run(until: { inspector.state?.lines.first?.sourceName == "Cancelled" }))
            gate.open()
            stage.waitUntilIdle()
        },

        Scenario("Ten thousand requests leave five hundred lines in the inspector, and cost the main thread little") {
            let stage = try Stage()
            stage.present()
            @MainActor
            func load() -> Duration {
                let before = mainThreadTime()
                let count = stage.results.count + 10_000
                for number in 0..<10_000 {
                    var request = ImageRequest(url: stage.server.url("/\(number).png"))
                    request.cachePolicy = .cachedOnly
                    stage.manager.load(request, completion: stage.completion)
                }
                expect(MainLoopPump.run(until: { stage.results.count == count }))
                return mainThreadTime() - before
            }
            let without = load()
            let inspector = stage.openInspector()
            let with = load()
            expect(MainLoopPump.run(until: { inspector.state?.lines.last?.isRunning == false }))
            expectEqual(inspector.state?.requestCount, 10_000)
            expectEqual(inspector.state?.lines.count, 500)
            expectEqual(inspector.state?.rows.count, 500)
            expectEqual(inspector.state?.lines.map(\.id), Array(9_500..<10_000))
            expect(with < without * 3 + .seconds(1), "\(with) with the inspector, \(without) without")
        },

        Scenario("The inspector shows hostile URLs as text") {
            let stage = try Stage { _ in .notFound }
            let inspector = stage.openInspector()
            let paths = [
                "/%3Cb%3Ebold%3C%2Fb%3E%26amp;.png", "/\(String(repeating: "long", count: 2000)).png",
                "/%E2%80%AE%D7%A9%D7%9C%D7%95%D7%9D.png", "/two%0Alines%00.png", "/%FF%FE.png", "//",
            ]
            for path in paths { stage.manager.load(stage.server.url(path), completion: stage.completion) }
            stage.waitForResults(paths.count)
            expect(MainLoopPump.run(until: { inspector.state?.lines.filter { !$0.isRunning }.count == paths.count }))
            let lines = inspector.state?.lines ?? []
            expectEqual(lines.first?.title, "<b>bold</b>&amp;.png")
            expect(lines.allSatisfy { !$0.title.isEmpty && $0.title.count <= 200 }, "\(lines.map(\.title))")
            expect(lines.allSatisfy { !$0.title.contains("\n") && !$0.title.contains("\0") })
            // Each is drawn and opened. A mistake in markup would end the program (G_DEBUG=fatal-criticals).
            for line in lines {
                inspector.openLine(line.id)
                expect(inspector.state?.details?.contains("badStatus") == true)
                expect(stage.waitForFrame())
            }
        },
    ]

    /// The processor time of the calling thread.
    private static func mainThreadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension Stage {
    /// Shows the window with the inspector of the stage's manager below its content.
    func openInspector() -> ImageInspector {
        let pane = Mutex<UInt?>(nil)
        let inspector = ImageInspector.install(in: WidgetPointer(window), manager: manager) { [weak self] new in
            guard let self else { return }
            if let old = pane.withLock({ $0.take() }) { remove(UnsafeMutablePointer(bitPattern: old)!) }
            guard let new else { return }
            append(new.widget)
            pane.withLock { $0 = UInt(bitPattern: new.nativeWidgetPointer) }
        }
        inspector.isOpen = true
        gtk_window_set_default_size(window.as(GtkWindow.self), 400, 900)
        present()
        expect(inspector.isOpen, "the inspector is not open")
        return inspector
    }

    /// The widgets in the window that show or load images.
    var pictures: [WidgetPointer] {
        WidgetPointer(window).images.bound.map { WidgetPointer($0.widget.nativeWidgetPointer) }
    }

    /// Waits for a line that has ended.
    func waitForLine(of inspector: ImageInspector, where condition: (LoadLine) -> Bool) throws -> LoadLine {
        _ = MainLoopPump.run(until: { inspector.state?.lines.contains(where: condition) == true })
        return try require(inspector.state?.lines.first(where: condition), "the line is missing")
    }
}

extension Result where Success == ImageResponse, Failure == ImageError {
    fileprivate var error: ImageError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
