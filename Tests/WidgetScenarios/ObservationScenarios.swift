internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Synchronization
import WebImageTesting

extension Scenario {
    static let observation: [Scenario] = [
        Scenario("The state of a widget's image can be observed, that of loads that nobody called for included") {
            // Given a server that fails once
            let attempts = Mutex(0)
            let gate = ServerGate()
            let stage = try Stage { request in
                let isFirst = attempts.withLock { count in
                    count += 1
                    return count == 1
                }
                var response = isFirst ? ServerResponse.status(404) : Stage.answer(request)
                if !isFirst { response.faults.gate = gate }
                return response
            }
            let picture = stage.addImage()
            picture.imageBinding.retriesOnClick = true
            let progress = picture.imageProgress
            expectEqual(progress.name, "idle")
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            expectEqual(progress.name, "loading", "not yet shown")
            stage.present()
            stage.waitForResults(1)
            expectEqual(progress.name, "failed \(ImageError.Code.badStatus)")
            // When the user clicks
            try stage.click(picture, until: { progress.name == "loading" })
            // Then the state says that the image is loading, and that it has loaded
            expectEqual(progress.name, "loading")
            gate.open()
            expect(MainLoopPump.run(until: { progress.name == "shown" }))
            expectEqual(stage.results.count, 1)
            picture.clearImage()
            expectEqual(progress.name, "idle")
            // When an image that waits for its widget is cancelled
            gtk_widget_set_visible(picture.widget, 0)
            picture.setImage(with: stage.url(0x993366), completion: stage.completion)
            expectEqual(progress.name, "loading")
            picture.cancelImageLoad()
            stage.waitForResults(2)
            expectEqual(progress.name, "idle")
        },

        Scenario("The progress of an image that needs no transfer is complete when it is shown") {
            // Given an image that is in the caches
            let stage = try Stage()
            let request = ImageRequest(url: stage.url(0x336699))
            stage.present()
            stage.addImage().setImage(with: request, completion: stage.completion)
            stage.waitForResults(1)
            let picture = stage.addImage()
            let progress = picture.imageProgress
            // When it is set from memory
            picture.setImage(with: request, completion: stage.completion)
            // Then it is shown within the call
            expectEqual(progress.name, "shown")
            expectEqual(progress.fraction, 1)
            expectEqual(stage.results.last?.source, .memory)
            // And when it comes from the disk, without any report
            stage.manager.cache.removeAllFromMemory()
            picture.clearImage()
            picture.setImage(with: request, completion: stage.completion)
            stage.waitForResults(3)
            expectEqual(stage.results.last?.source, .disk)
            expectEqual(progress.name, "shown")
            expectEqual(progress.fraction, 1)
        },

        Scenario("Progress that is first looked at in the middle of a load says what has arrived, and goes on") {
            let (stage, gate, size) = try halfway()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(
                with: ImageRequest(url: stage.server.url("/a"), loading: .progressive),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage?.isPartial == true }))
            // When the app asks now
            let progress = picture.imageProgress
            // Then it learns what is known, at once
            expect(progress.received >= Int64(size / 4) && progress.fraction < 1, "\(progress.received) of \(size)")
            expectEqual(progress.expected, Int64(size))
            expectEqual(progress.name, "loading")
            gate.open()
            stage.waitForResults(1)
            expectEqual(progress.name, "shown")
        },

        Scenario("Whoever sets the image that is loading hears of its progress and of its partial images") {
            // Given a load of which a half has arrived
            let loader = FakeLoader(holdsResponses: true)
            let file = noise()
            let stage = try Stage()
            var request = ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive)
            request.loader = loader
            loader.answer(request.url, with: file)
            let picture = stage.addImage()
            stage.present()
            picture.setImage(
                with: request,
                partial: { _ in },
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { loader.runningCount == 1 }))
            loader.send(file.prefix(file.count / 2), for: request.url, expected: Int64(file.count))
            expect(MainLoopPump.run(until: { picture.currentImage?.isPartial == true }))
            // When it is set again with handlers
            var reports: [Int64] = []
            var partialCount = 0
            picture.setImage(
                with: request,
                progress: { received, _ in reports.append(received) },
                partial: { _ in partialCount += 1 },
                completion: stage.completion
            )
            // Then they hear at once what has arrived, and of what follows
            expectEqual(reports, [Int64(file.count / 2)])
            expectEqual(partialCount, 1, "what is on display already")
            let rest = file[(file.count / 2)..<(file.count * 9 / 10)]
            loader.send(rest, for: request.url, expected: Int64(file.count))
            expect(MainLoopPump.run(until: { partialCount > 1 && reports.count > 1 }))
            loader.finish(request.url)
            stage.waitForResults(2)
        },

        Scenario("A widget's memory hit is reported like every step, and obeys the manager's request processor") {
            // Given an image in memory, and a processor that asks the server each time from now on
            let isOn = Mutex(false)
            let stage = try Stage { request in
                var response = Stage.answer(request)
                response.headers += [("Cache-Control", "max-age=600"), ("ETag", "\"1\"")]
                return request.headers["if-none-match"] == nil ? response : .status(304)
            } configure: { configuration in
                configuration.requestProcessor = { request in
                    var request = request
                    if isOn.withLock({ $0 }) { request.cachePolicy = .refresh }
                    return request
                }
            }
            let steps = EventLog<String>()
            let observation = stage.manager.observe { steps.add("\($0.kind)") }
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            stage.waitUntilIdle()
            let count = steps.all.count
            picture.clearImage()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            expectEqual(stage.results.count, 2)
            expectEqual(
                Array(steps.all.dropFirst(count)),
                ["requested", "memoryHit", "delivered(WebImageCore.LoadSource.memory)"]
            )
            // When the processor wants the server to be asked
            isOn.withLock { $0 = true }
            picture.clearImage()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            expectEqual(picture.currentImage?.color, 0x336699)
            stage.waitForResults(3)
            // Then it is, though the image shows at once
            expectEqual(stage.server.requests.count, 2)
            withExtendedLifetime(observation) {}
        },

        Scenario("A request processor sees a widget's request once, and an observer may set another image meanwhile") {
            let seen = EventLog<URL>()
            let stage = try Stage(configure: { configuration in
                configuration.requestProcessor = { request in
                    seen.add(request.url)
                    return request
                }
            })
            let (first, second) = (stage.url(0x336699), stage.url(0x993366))
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: first, completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(seen.all, [first])
            // When the image is in memory, and an observer sets another one as soon as it hears of that
            let observation = stage.manager.observe { step in
                guard case .delivered(.memory) = step.kind, step.url == first else { return }
                MainActor.assumeIsolated {
                    _ = picture.setImage(with: second, completion: stage.completion)
                }
            }
            picture.clearImage()
            picture.setImage(with: first, completion: stage.completion)
            // Then the widget shows that one
            stage.waitForResults(3)
            expectEqual(picture.imageBinding.request?.url, second)
            expectEqual(picture.currentImage?.color, 0x993366)
            withExtendedLifetime(observation) {}
        },

        Scenario("An image that the app stores in memory is shown in widgets of any size") {
            let stage = try Stage()
            let url = stage.url(0x336699)
            let large = try WebImage(data: TestImage.solid(0x993366, size: PixelSize(width: 900, height: 600)))
            stage.manager.cache.store(large, for: ImageRequest(url: url), in: .memory)
            let picture = stage.addImage(width: 60, height: 40)
            stage.present()
            picture.setImage(with: url, completion: stage.completion)
            expectEqual(stage.results.first?.source, .memory)
            expectEqual(picture.currentImage?.color, 0x993366)
            expectEqual(stage.server.requests.count, 0)
        },
    ]

    /// A JPEG file that takes several chunks.
    private static func noise() -> Data {
        TestImage.make(size: PixelSize(width: 300, height: 200), format: .jpeg) { x, y in
            UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
        }
    }

    /// A server that stops in the middle of an image until its gate is open.
    @MainActor
    private static func halfway() throws -> (Stage, ServerGate, size: Int) {
        let gate = ServerGate()
        let file = noise()
        let stage = try Stage { _ in
            var response = ServerResponse.ok(file, contentType: "image/jpeg")
            response.faults.bodyGate = (afterBytes: file.count / 2, gate: gate)
            return response
        }
        return (stage, gate, file.count)
    }
}

extension ImageProgress {
    /// The state as a word.
    var name: String {
        switch state {
        case .idle: "idle"
        case .loading: "loading"
        case .shown: "shown"
        case .failed(let error): "failed \(error.code)"
        }
    }
}
