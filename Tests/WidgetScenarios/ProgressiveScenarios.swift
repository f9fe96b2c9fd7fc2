internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Synchronization
import TestSupport
import WebImageCore
import WebImageTesting

extension Scenario {
    static let progressive: [Scenario] = [
        Scenario("A progressive image is visible before it is complete, at its final size in the layout", .drawing) {
            // Given a server that pauses in the middle
            let gate = ServerGate()
            let file = TestImage.make(size: PixelSize(width: 300, height: 200), format: .jpeg) { x, y in
                UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
            }
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/jpeg")
                response.faults.bodyGate = (afterBytes: file.count / 2, gate: gate)
                return response
            }
            let picture = stage.addImage(width: -1, height: -1)
            stage.present()
            var partials = 0
            var progress: [Int64] = []
            picture.setImage(
                with: ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive),
                progress: { received, expected in
                    progress.append(received)
                    expectEqual(expected, Int64(file.count))
                },
                partial: { _ in partials += 1 },
                completion: stage.completion
            )
            // Then half of the image is shown
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            expectEqual(picture.currentImage?.isPartial, true)
            expect(partials > 0)
            expect(progress.last.map { $0 > 0 && $0 < file.count } ?? false, "\(progress)")
            expect(stage.waitForFrame())
            expectEqual(gtk_widget_get_width(picture.widget), 300)
            expect(stage.results.isEmpty)
            // When the rest arrives
            gate.open()
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.isPartial, false)
            expectEqual(picture.currentImage?.pixelSize, PixelSize(width: 300, height: 200))
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("A blurred partial image has the place of the image, which is sharp in the end", .drawing, .density) {
            // Given a server that pauses after most of a pattern of stripes
            let gate = ServerGate()
            let file = TestImage.make(size: PixelSize(width: 400, height: 300), format: .jpeg) { x, _ in
                x / 4 % 2 == 0 ? 0x000000 : 0xFFFFFF
            }
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/jpeg")
                response.faults.bodyGate = (afterBytes: file.count / 4, gate: gate)
                return response
            }
            let picture = stage.addImage(width: 400, height: 300)
            stage.present()
            var request = ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive)
            request.progressiveOptions = ProgressiveOptions(interval: .zero, isBlurred: true)
            picture.setImage(with: request, completion: stage.completion)
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            expect(stage.waitForFrame())
            expectEqual(gtk_widget_get_width(picture.widget), 400)
            /// The difference between two stripes near the top, in levels.
            @MainActor func contrast() throws -> Int {
                let drawn = try require(rendered(picture.widget))
                let levels = (0..<4).map { Int(drawn.color((198.5 + Double($0) * 2) / 400, 0.02) & 255) }
                return (levels.max() ?? 0) - (levels.min() ?? 0)
            }
            let coarse = try contrast()
            expect(coarse < 60, "\(coarse)")
            gate.open()
            stage.waitForResults(1)
            expect(stage.waitForFrame())
            let sharp = try contrast()
            expect(sharp > 180, "\(sharp)")
        },

        Scenario("A load that starts again with the widget draws no thumbnail over what has arrived") {
            // Given a file with a thumbnail, of which half has arrived
            let loader = FakeLoader(holdsResponses: true)
            let thumbnail = TestImage.solid(0x00FFFF, size: PixelSize(width: 60, height: 40), format: .jpeg)
            let image = TestImage.make(size: PixelSize(width: 300, height: 200), format: .jpeg) { x, y in
                UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
            }
            let file = TestImage.jpeg(image, with: [TestImage.exifSegment(thumbnail: thumbnail)])
            let stage = try Stage()
            var request = ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive)
            request.loader = loader
            loader.answer(request.url, with: file)
            let picture = stage.addImage()
            stage.present()
            let events = EventLog<String>()
            let observation = stage.manager.observe { step in
                if case .partial = step.kind { events.add("partial") }
            }
            let thumbnails = EventLog<Bool>()
            picture.setImage(
                with: request,
                options: BindingOptions(start: .onlyWhileMapped),
                partial: { thumbnails.add($0.isThumbnail) }
            )
            expect(MainLoopPump.run(until: { loader.runningCount == 1 }))
            loader.send(file.prefix(file.count / 2), for: request.url, expected: Int64(file.count))
            expect(MainLoopPump.run(until: { picture.currentImage?.isThumbnail == false }))
            // When the widget is unmapped and mapped, and no more than the head arrives
            gtk_widget_set_visible(picture.widget, 0)
            stage.waitUntilIdle()
            let (shown, count) = (thumbnails.all.count, events.all.count)
            gtk_widget_set_visible(picture.widget, 1)
            expect(MainLoopPump.run(until: { loader.runningCount == 1 }))
            let head = file.prefix(TestImage.headLength(of: file))
            loader.send(head, for: request.url, expected: Int64(file.count))
            expect(MainLoopPump.run(until: { events.all.count > count }))
            expect(stage.waitForFrame())
            // Then the widget keeps the half
            expectEqual(thumbnails.all.count, shown)
            expect(picture.currentImage.map { $0.isPartial && !$0.isThumbnail } == true)
            // And shows the whole in the end
            loader.finish(request.url)
            expect(MainLoopPump.run(until: { picture.currentImage?.isPartial == false }))
            withExtendedLifetime(observation) {}
        },

        Scenario("The thumbnail of a camera is visible before the image arrives, in its layout", .drawing) {
            // Given a server that pauses behind the head of the file, whose thumbnail has another colour
            let gate = ServerGate()
            let thumbnail = TestImage.solid(0x00FFFF, size: PixelSize(width: 60, height: 40), format: .jpeg)
            let file = TestImage.jpeg(
                TestImage.solid(0xFF0000, size: PixelSize(width: 300, height: 200), format: .jpeg),
                with: [TestImage.exifSegment(thumbnail: thumbnail)]
            )
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/jpeg")
                response.faults.bodyGate = (afterBytes: TestImage.headLength(of: file), gate: gate)
                return response
            }
            let picture = stage.addImage(width: -1, height: -1)
            stage.present()
            picture.setImage(
                with: ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            expect(stage.waitForFrame())
            // Then it is drawn over the area of the image
            expectEqual(gtk_widget_get_width(picture.widget), 300)
            let early = try require(rendered(picture.widget))
            for (x, y) in [(0.02, 0.02), (0.98, 0.98)] { expect(isNear(early.color(x, y), 0x00FFFF, within: 8)) }
            expect(stage.results.isEmpty)
            // When the rest arrives
            gate.open()
            stage.waitForResults(1)
            stage.waitForFrame()
            expectEqual(gtk_widget_get_width(picture.widget), 300)
            expect(isNear(try require(rendered(picture.widget)).color(0.5, 0.5), 0xFF0000, within: 8))
        },

        Scenario("With display .manual the app gets the partial images, and the widget none") {
            let gate = ServerGate()
            let file = TestImage.make(size: PixelSize(width: 300, height: 200), format: .jpeg) { x, y in
                UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
            }
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/jpeg")
                response.faults.bodyGate = (afterBytes: file.count / 2, gate: gate)
                return response
            }
            let picture = stage.addImage(width: 300, height: 200)
            stage.present()
            var partials: [WebImage] = []
            picture.setImage(
                with: ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive),
                options: BindingOptions(display: .manual),
                partial: { partials.append($0) },
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { !partials.isEmpty }))
            expect(partials.allSatisfy(\.isPartial))
            expect(picture.currentImage == nil)
            gate.open()
            stage.waitForResults(1)
            expect(picture.currentImage == nil)
        },

        Scenario("A load that starts again after a partial image has its transition") {
            // Given a partial image, whose load ends because the widget leaves its window
            let gate = ServerGate()
            let file = TestImage.make(size: PixelSize(width: 300, height: 200), format: .jpeg) { x, y in
                UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
            }
            // The second load makes no partial images, which would show the upper half before the transition.
            let showsPartialImages = Mutex(true)
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/jpeg")
                response.faults.bodyGate = (afterBytes: file.count / 2, gate: gate)
                return response
            } configure: { configuration in
                configuration.requestProcessor = { request in
                    var request = request
                    if !showsPartialImages.withLock({ $0 }) { request.loading = .complete }
                    return request
                }
            }
            let picture = stage.addImage(width: 300, height: 200)
            stage.present()
            picture.setImage(
                with: ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            picture.imageTransition = ImageTransition(
                ImageTransition.crossfade().effect,
                duration: .seconds(600),
                easing: ImageEasing { $0 < 1 ? 0.5 : 1 }
            )
            g_object_ref(picture.nativeWidgetPointer)
            gtk_box_remove(stage.box.as(GtkBox.self), picture.widget)
            stage.waitForResults(1)
            expectEqual(stage.results.last?.errorCode, .cancelled)
            // Otherwise the first transfer may still put the whole image into memory, and a memory hit has no transition.
            stage.waitUntilIdle()
            showsPartialImages.withLock { $0 = false }
            gate.open()
            // When it is back, and the whole image arrives
            gtk_box_append(stage.box.as(GtkBox.self), picture.widget)
            g_object_unref(picture.nativeWidgetPointer)
            expect(MainLoopPump.run(until: { picture.currentImage?.isPartial == false }))
            stage.waitForFrame()
            stage.waitForFrame()
            // Then the lower half, which the partial image lacks, is mixed with it.
            let (drawn, whole) = (try require(rendered(picture.widget)), try require(picture.currentImage))
            let isMixed = (1...9).contains { step in
                let x = Double(step) / 10
                return !isNear(drawn.color(x, 0.95), whole.color(x, 0.95))
            }
            expect(isMixed, "the whole image is there at once")
        },
    ]
}
