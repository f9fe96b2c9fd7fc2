internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageTesting

extension Scenario {
    static let progressive: [Scenario] = [
        Scenario("A progressive image is seen before it is whole, at its final size in the layout") {
            // Given a server that stops in the middle
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
                with: stage.server.url("/a.jpg"),
                loading: .progressive,
                manager: stage.manager,
                progress: { received, expected in
                    progress.append(received)
                    expectEqual(expected, Int64(file.count))
                },
                partial: { _ in partials += 1 },
                completion: stage.completion
            )
            // Then half of it is shown
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            expectEqual(picture.currentImage?.isPartial, true)
            expect(partials > 0)
            expect(progress.last.map { $0 > 0 && $0 < file.count } ?? false, "\(progress)")
            expect(stage.waitForFrame())
            expectEqual(gtk_widget_get_width(picture.widget), 300)
            expect(stage.results.isEmpty)
            // When the rest comes
            gate.open()
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.isPartial, false)
            expectEqual(picture.currentImage?.pixelSize, PixelSize(width: 300, height: 200))
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("A load that starts again after a partial image has its transition") {
            // Given a partial image, whose load ends because the widget leaves its window
            let gate = ServerGate()
            let file = TestImage.make(size: PixelSize(width: 300, height: 200), format: .jpeg) { x, y in
                UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
            }
            let other = TestImage.solid(0x0000FF, size: PixelSize(width: 300, height: 200))
            let answers = EventLog<String>()
            let stage = try Stage { request in
                answers.add(request.path)
                guard answers.all.count == 1 else { return .ok(other, contentType: "image/png") }
                var response = ServerResponse.ok(file, contentType: "image/jpeg")
                response.faults.bodyGate = (afterBytes: file.count / 2, gate: gate)
                return response
            }
            let picture = stage.addImage(width: 300, height: 200)
            stage.present()
            picture.setImage(
                with: stage.server.url("/a.jpg"),
                loading: .progressive,
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage),
                manager: stage.manager,
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
            gate.open()
            // When it is back, and the whole image arrives
            gtk_box_append(stage.box.as(GtkBox.self), picture.widget)
            g_object_unref(picture.nativeWidgetPointer)
            expect(MainLoopPump.run(until: { picture.currentImage?.isPartial == false }))
            stage.waitForFrame()
            stage.waitForFrame()
            // Then both images are visible.
            let drawn = try require(rendered(picture.widget))
            expect(!isNear(drawn.color(0.5, 0.5), 0x0000FF), "\(String(drawn.color(0.5, 0.5), radix: 16))")
        },
    ]
}
