internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageTesting

extension Scenario {
    static let rebinding: [Scenario] = [
        Scenario("A slow image never replaces the one that was requested after it") {
            let gate = ServerGate()
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if request.path.hasPrefix("/111111") { response.faults.gate = gate }
                return response
            }
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x111111), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            picture.setImage(with: stage.url(0x222222), completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(stage.results.map(\.errorCode), [.cancelled, nil])
            gate.open()
            stage.waitUntilIdle()
            MainLoopPump.runPending()
            expectEqual(picture.currentImage?.color, 0x222222)
        },

        Scenario("A cancelled load fails once with its own error, and its transfer stops") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x111111), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            picture.cancelImageLoad()
            expectEqual(stage.results.count, 0, "completions within the call")
            stage.waitForResults(1)
            picture.cancelImageLoad()
            stage.waitUntilIdle()
            expect(MainLoopPump.run(until: { gate.waitingCount == 0 }), "the server still waits for its client")
            expectEqual(stage.results.map(\.errorCode), [.cancelled])
        },

        Scenario(
            "A widget that is bound 10,000 times to 50 URLs shows only right images, the last one at the end"
        ) {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            let colors = (0..<50).map { UInt32(0x101010 + $0 * 0x030201) }
            var wrong = 0
            var ended = 0
            var residentAtStart = 0
            for round in 0..<10_000 {
                let color = colors[round * 7 % 50]
                picture.setImage(with: stage.url(color)) { result in
                    ended += 1
                    if let shown = picture.currentImage, case .success = result, shown.color != color { wrong += 1 }
                }
                // The loop runs a little from time to time, so that loads are interrupted at every stage.
                if round % 3 == 0 { g_main_context_iteration(nil, 0) }
                if let shown = picture.currentImage, shown.color != color { wrong += 1 }
                if round == 2000 { residentAtStart = residentPages() }
            }
            expect(MainLoopPump.run(until: { ended == 10_000 }), "\(ended) completions")
            stage.waitUntilIdle()
            expectEqual(wrong, 0, "wrong images")
            expectEqual(picture.currentImage?.color, colors[9999 * 7 % 50])
            let growth = (residentPages() - residentAtStart) * 4096
            expect(growth < 16 << 20, "memory grew by \(growth) bytes")
            // Each URL has at most one fetch in flight; a cancelled one may have been requested again.
            expect(stage.manager.activeCounts == (0, 0))
        },

        Scenario("Images that are set one after the other from completions that wait for transitions can be replaced") {
            // Given a slide show from memory, whose next image is set when the transition to the one before has ended
            let stage = try Stage()
            let picture = stage.addImage()
            picture.imageTransition = .crossfade(duration: .seconds(30))
            stage.present()
            let urls = [0x111111, 0x222222].map { stage.url($0) }
            for url in urls { stage.manager.load(url, completion: stage.completion) }
            stage.waitForResults(2)
            let options = BindingOptions(display: .animated, awaitsTransition: true)
            var (begun, ended) = (0, 0)
            @MainActor func showNext() {
                begun += 1
                let request = ImageRequest(url: urls[begun % 2], decodeSize: .original)
                picture.setImage(with: request, options: options) { _ in
                    ended += 1
                    if begun < 1000 { showNext() }
                }
            }
            showNext()
            expectEqual(begun, 1)
            // When the app shows another image
            let pixels = PixelBuffer(size: PixelSize(width: 8, height: 8), format: .rgb) {
                $0.initializeMemory(as: UInt8.self, repeating: 0x33)
            }
            picture.setImage(WebImage(pixels: try require(pixels)))
            // Then the call returns, with that image in place
            expectEqual(begun, 1)
            expectEqual(picture.currentImage?.color, 0x333333)
            // And the slide show goes on after it. Every completion is called.
            expect(MainLoopPump.run(until: { begun == 2 }))
            expectEqual(ended, 1)
            begun = 1000
            picture.clearImage()
            expect(MainLoopPump.run(until: { ended == 2 }), "\(ended) completions")
        },

        Scenario("An image that a completion sets while another one is being set comes after that and stays") {
            // Given an image whose completion waits for a long transition, and sets a third one
            let stage = try Stage()
            let picture = stage.addImage()
            picture.imageTransition = .crossfade(duration: .seconds(30))
            stage.present()
            let urls = [0x111111, 0x222222, 0x333333].map { stage.url($0) }
            let requests = urls.map { ImageRequest(url: $0, decodeSize: .original) }
            for (memory, count) in [([0], 1), ([0, 1], 2), ([0, 2], 2), ([0, 1, 2], 3)] {
                stage.manager.cache.removeAllFromMemory()
                let loaded = stage.results.count
                for index in memory { stage.manager.load(requests[index], completion: stage.completion) }
                stage.waitForResults(loaded + count)
                picture.clearImage()
                let options = BindingOptions(display: .animated, awaitsTransition: true)
                var last: ImageResult?
                picture.setImage(with: requests[0], options: options) { _ in
                    picture.setImage(with: requests[2]) { last = $0 }
                }
                expect(MainLoopPump.run(until: { picture.currentImage != nil }))
                // When the app sets the second one
                picture.setImage(with: requests[1])
                // Then the third one, which is set last, is on display in the end
                expect(MainLoopPump.run(until: { last != nil }), "\(memory)")
                expectEqual((try? last?.get())?.image.color, 0x333333)
                expectEqual(picture.currentImage?.color, 0x333333)
                expectEqual(picture.imageBinding.request?.url, urls[2])
            }
        },

        Scenario("An image that is set while a larger version of another one arrives keeps its place and completes") {
            // Given an image whose completion waits for a long transition, and sets another image
            let stage = try Stage()
            let picture = stage.addImage(width: 60, height: 40)
            picture.imageTransition = .crossfade(duration: .seconds(30))
            stage.present()
            let next = ImageRequest(url: stage.url(0x222222), decodeSize: .original)
            stage.manager.load(next, completion: stage.completion)
            stage.waitForResults(1)
            let options = BindingOptions(display: .animated, awaitsTransition: true)
            var ended: [UInt32] = []
            picture.setImage(with: stage.url(0x111111, "600x400"), options: options) { result in
                ended.append((try? result.get())?.image.color ?? 0)
                picture.setImage(with: next, options: options) { _ in ended.append(0x222222) }
            }
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            // When it is drawn larger, and an unmap cuts the transition to its larger pixels short
            gtk_widget_set_size_request(picture.widget, 300, 200)
            let isLarger = MainLoopPump.run(until: {
                gtk_widget_queue_draw(stage.window)
                return (picture.currentImage?.pixelSize.width ?? 0) >= 300
            })
            expect(isLarger && ended.isEmpty, "\(ended)")
            gtk_widget_set_visible(picture.widget, 0)
            // Then the other image stays, and both complete
            expect(MainLoopPump.run(until: { ended == [0x111111, 0x222222] }), "\(ended)")
            expectEqual(picture.currentImage?.color, 0x222222)
        },

        Scenario("A load that an unmap interrupts and another one replaces ends with what it loads in the end") {
            // Given a load that was interrupted by an unmap and has begun again
            let gate = ServerGate()
            let stage = try Stage(gates: [0x111111: gate])
            let picture = stage.addImage()
            stage.present()
            picture.setImage(
                with: stage.url(0x111111),
                options: BindingOptions(start: .onlyWhileMapped),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            gtk_widget_set_visible(picture.widget, 0)
            gtk_widget_set_visible(picture.widget, 1)
            gtk_widget_set_size_request(picture.widget, 90, 70)
            // When another load lets it finish
            expect(stage.waitForFrame())
            picture.setImage(
                with: stage.url(0x222222),
                options: BindingOptions(previousLoad: .finishes)
            )
            gate.open()
            // Then it ends with the image
            stage.waitForResults(1)
            expectEqual(stage.results.map(\.errorCode), [nil])
        },

        Scenario("Loads under different keys of one widget are independent") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            let other = OperationKey(rawValue: "other")
            picture.setImage(with: stage.url(0x111111), completion: stage.completion)
            let binding = picture.imageBinding(for: other) { _ in }
            binding.setImage(with: stage.url(0x222222), completion: stage.completion)
            picture.images.cancel(OperationKey(rawValue: "third"))
            stage.waitForResults(2)
            expectEqual(stage.results.map(\.errorCode), [nil, nil])
            expectEqual(picture.currentImage?.color, 0x111111)
            expectEqual(binding.currentImage?.color, 0x222222)
            expectEqual(binding.request?.url, stage.url(0x222222))
            expect(picture.images.task(for: other) === binding.task)
        },
    ]

    /// The number of resident memory pages of the process (proc(5), statm).
    private static func residentPages() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }
}
