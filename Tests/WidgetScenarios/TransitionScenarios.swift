internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

/// A transition that stays in its middle, or at another share, as long as a test needs.
@MainActor
private func halfway(_ effect: ImageTransition, _ progress: Double = 0.5) -> ImageTransition {
    ImageTransition(effect.effect, duration: .seconds(600), easing: ImageEasing { $0 < 1 ? progress : 1 })
}

/// Shows a second image after a first one and returns what is drawn in the middle of the transition.
@MainActor
private func middle(
    _ effect: ImageTransition,
    at progress: Double = 0.5,
    from first: String = "/FF0000/64x48.png",
    to second: String = "/0000FF/64x48.png",
    fit: ImageContentFit = .stretch
) throws -> WebImage {
    let stage = try Stage { request in
        guard request.path == "/halves" else { return Stage.answer(request) }
        let halves = TestImage.make(size: PixelSize(width: 64, height: 48), format: .png) { x, _ in
            x < 32 ? 0xFF0000 : 0x00FF00
        }
        return .ok(halves, contentType: "image/png")
    }
    let picture = stage.addImage()
    picture.contentFit = fit
    stage.present()
    picture.setImage(with: stage.server.url(first), completion: stage.completion)
    stage.waitForResults(1)
    picture.imageTransition = halfway(effect, progress)
    picture.setImage(
        with: stage.server.url(second),
        options: BindingOptions(whileLoading: .placeholderOrCurrentImage),
        completion: stage.completion
    )
    stage.waitForResults(2)
    stage.waitForFrame()
    stage.waitForFrame()
    return try require(rendered(picture.widget))
}

private struct Nothing: ImageTransitioning {
    func layers(at progress: Double) -> TransitionLayers { TransitionLayers() }
}

extension Scenario {
    static let transitions: [Scenario] = [
        Scenario("A cross-fade mixes both images in its middle", .drawing, .density) {
            let drawn = try middle(.crossfade())
            expect(isNear(drawn.color(0.5, 0.5), 0x7F007F), "\(String(drawn.color(0.5, 0.5), radix: 16))")
        },

        Scenario(
            "A slide covers one half with the new image in its middle, or pushes the old one out",
            .drawing,
            .density
        ) {
            // The old image is red on its left and green on its right.
            for (pushes, left) in [(true, 0x00FF00), (false, 0xFF0000)] as [(Bool, UInt32)] {
                let drawn = try middle(.slide(from: .right, pushesOutgoing: pushes), from: "/halves")
                expectEqual(drawn.color(0.25, 0.5), left, pushes ? "pushed" : "covered")
                expectEqual(drawn.color(0.75, 0.5), 0x0000FF, "right")
            }
            let drawn = try middle(.slide(from: .top))
            expectEqual(drawn.color(0.5, 0.25), 0x0000FF, "top")
            expectEqual(drawn.color(0.5, 0.75), 0xFF0000, "bottom")
        },

        Scenario("An image that is cut off at its sides pushes the old one out without a gap", .drawing, .density) {
            let drawn = try middle(.slide(pushesOutgoing: true), from: "/halves", to: "/0000FF/192x48.png", fit: .cover)
            for x in [0.05, 0.25, 0.45] { expectEqual(drawn.color(x, 0.5), 0x00FF00, "\(x)") }
            for x in [0.55, 0.75, 0.95] { expectEqual(drawn.color(x, 0.5), 0x0000FF, "\(x)") }
        },

        Scenario(
            "A zoom shows the new image smaller and half transparent over the old one in its middle",
            .drawing,
            .density
        ) {
            let drawn = try middle(.zoom(from: 0))
            expect(isNear(drawn.color(0.5, 0.5), 0x80007F), "\(String(drawn.color(0.5, 0.5), radix: 16))")
            expectEqual(drawn.color(0.1, 0.5), 0xFF0000)
        },

        Scenario("A flip turns the old image edge-on and the new one from there", .drawing) {
            let effect = ImageTransition.flip().effect
            expectEqual(effect.layers(at: 0).outgoing.rotation, 0)
            expectEqual(effect.layers(at: 0.49).outgoing.opacity, 1)
            expectEqual(effect.layers(at: 0.51).incoming.opacity, 1)
            expectEqual(effect.layers(at: 1).incoming.rotation, 0)
            // Nothing is seen of a card from its edge.
            let drawn = try middle(.flip())
            expectEqual(drawn.color(0.25, 0.5), 0)
        },

        Scenario("A flip brings the edge that it starts from forward and takes the opposite one back", .drawing) {
            // The near edge looks larger, so that it is farther from the centre.
            let places: [(ImageTransition.Edge, near: (Double, Double), far: (Double, Double))] = [
                (.left, (0.14, 0.5), (0.86, 0.5)), (.right, (0.86, 0.5), (0.14, 0.5)),
                (.top, (0.5, 0.14), (0.5, 0.86)), (.bottom, (0.5, 0.86), (0.5, 0.14)),
            ]
            for (edge, near, far) in places {
                let drawn = try middle(.flip(from: edge), at: 0.25)
                let (nearColor, farColor) = (drawn.color(near.0, near.1), drawn.color(far.0, far.1))
                // Without OpenGL the flip is flat, so that both sides are narrower than the image.
                let hasDepth = environment["GWI_DISPLAY"] == "xvfb"
                expectEqual(nearColor == 0xFF0000, hasDepth, "\(edge), the near side")
                expect(farColor != 0xFF0000, "\(edge), the far side")
                expectEqual(drawn.color(0.5, 0.5), 0xFF0000, "\(edge), the middle")
                // GTK draws pink where a renderer cannot draw a transformation.
                expect(nearColor != 0xFF69B4 && farColor != 0xFF69B4, "\(edge) is pink")
            }
        },

        Scenario("An image that is uncovered stays in place while the old one leaves at an edge", .drawing) {
            for (edge, x, y) in [(.left, 0.25, 0.5), (.right, 0.75, 0.5), (.top, 0.5, 0.25), (.bottom, 0.5, 0.75)]
                as [(ImageTransition.Edge, Double, Double)]
            {
                let drawn = try middle(.uncover(to: edge))
                expectEqual(drawn.color(x, y), 0xFF0000, "\(edge)")
                expectEqual(drawn.color(1 - x, 1 - y), 0x0000FF, "opposite of \(edge)")
            }
        },

        Scenario("A transition tells when it starts and when it ends, also when another image cuts it short") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            var events: [String] = []
            var transition = halfway(.crossfade())
            transition.onStart = { events.append("start") }
            transition.onEnd = { events.append("end") }
            picture.imageTransition = transition
            // The first image has nothing to change from, but changes from the empty widget.
            picture.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            expect(MainLoopPump.run(until: { events == ["start"] }), "\(events)")
            // When another image comes in the middle, and then its transition ends by itself
            transition.duration = .milliseconds(60)
            picture.imageTransition = transition
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { events.count == 4 }), "\(events)")
            // Then each transition has told both, and a memory hit, which has no transition, tells nothing.
            expectEqual(events.sorted(), ["end", "end", "start", "start"])
            expectEqual(events.first, "start")
            expectEqual(events.last, "end")
            picture.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            stage.waitForResults(3)
            stage.waitForFrame()
            expectEqual(events.count, 4)
        },

        Scenario("A transition ends with the new image alone and then calls the completion") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            stage.waitForResults(1)
            var (wasThere, events) = (false, [String]())
            var transition = ImageTransition.crossfade(duration: .milliseconds(60))
            transition.onEnd = { events.append("end") }
            picture.imageTransition = transition
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage, awaitsTransition: true),
                completion: { _ in
                    wasThere = true
                    events.append("completion")
                }
            )
            // The image is set before the completion is called.
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x0000FF }))
            expect(!wasThere, "it did not wait")
            // A second call for the same image joins the waiting one.
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage, awaitsTransition: true),
                completion: stage.completion
            )
            expectEqual(stage.results.count, 1)
            stage.waitForResults(2)
            expect(wasThere)
            expectEqual(events, ["end", "completion"])
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0x0000FF)
        },

        Scenario("A transition goes on when the image becomes sharper, and the completion waits for its end") {
            // Given a transition that stays in its middle, to an image that is too small for its widget
            let stage = try Stage()
            let picture = stage.addImage()
            constrain(picture, width: 60, height: 40, in: stage)
            stage.present()
            picture.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            stage.waitForResults(1)
            picture.imageTransition = halfway(.crossfade())
            picture.setImage(
                with: stage.url(0x0000FF, "600x400"),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage, awaitsTransition: true),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x0000FF }))
            // When the widget grows and gets a larger one
            constrain(picture, width: 240, height: 160, in: stage)
            let isLarger = MainLoopPump.run(until: {
                gtk_widget_queue_draw(stage.window)
                return picture.currentImage?.pixelSize.width == 240
            })
            expect(isLarger)
            stage.waitForFrame()
            // Then both images are mixed still, and the completion has not been called
            let drawn = try require(rendered(picture.widget)).color(0.5, 0.5)
            expect(isNear(drawn, 0x7F007F), String(drawn, radix: 16))
            expectEqual(stage.results.count, 1)
            picture.clearImage()
            stage.waitForResults(2)
        },

        Scenario("A memory hit is shown without a transition, unless it is forced") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            for color in [0xFF0000, 0x0000FF] as [UInt32] {
                picture.setImage(with: stage.url(color), completion: stage.completion)
                stage.waitForResults(color == 0xFF0000 ? 1 : 2)
            }
            picture.imageTransition = halfway(.crossfade())
            picture.setImage(with: stage.url(0xFF0000))
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0xFF0000)
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(display: .animated)
            )
            stage.waitForFrame()
            stage.waitForFrame()
            expect(isNear(rendered(picture.widget)?.color(0.5, 0.5) ?? 0, 0x7F007F))
        },

        Scenario("A transition for the network only leaves out images from the disk cache and from files") {
            let (stage, folder) = (try Stage(), TemporaryDirectory())
            let picture = stage.addImage()
            stage.present()
            var transition = halfway(.crossfade())
            transition.isForNetworkOnly = true
            picture.imageTransition = transition
            @MainActor func middle(_ url: URL, from source: LoadSource) -> UInt32 {
                stage.waitUntilIdle()
                stage.manager.cache.removeAllFromMemory()
                let options = BindingOptions(whileLoading: .placeholderOrCurrentImage)
                picture.setImage(with: url, options: options, completion: stage.completion)
                stage.waitForResults(stage.results.count + 1)
                expectEqual(stage.results.last?.source, source)
                stage.waitForFrame()
                stage.waitForFrame()
                return rendered(picture.widget)?.color(0.5, 0.5) ?? 0
            }
            let file = URL(fileURLWithPath: "\(folder.path)/green.png")
            try TestImage.solid(0x00FF00, size: PixelSize(width: 64, height: 48)).write(to: file)
            // Given an image that arrives with a transition
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(display: .manual),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(middle(file, from: .loader), 0x00FF00, "a file")
            expect(isNear(middle(stage.url(0xFF0000), from: .loader), 0x7F7F00), "the network")
            expectEqual(middle(stage.url(0x0000FF), from: .disk), 0x0000FF, "the disk cache")
            // When the transition is for all
            transition.isForNetworkOnly = false
            picture.imageTransition = transition
            expect(isNear(middle(stage.url(0xFF0000), from: .disk), 0x7F007F), "the disk cache, for all")
        },

        Scenario("Reduced motion and widgets off screen suppress transitions, and unmapping ends a running one") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.imageTransition = halfway(.crossfade())
            stage.setAnimations(false)
            picture.setImage(
                with: stage.url(0xFF0000),
                options: BindingOptions(awaitsTransition: true),
                completion: stage.completion
            )
            stage.waitForResults(1)
            stage.setAnimations(true)
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(awaitsTransition: true),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x0000FF }))
            stage.waitForFrame()
            expectEqual(stage.results.count, 1)
            gtk_widget_set_visible(picture.widget, 0)
            stage.waitForResults(2)
            expectEqual(stage.results.map(\.errorCode), [nil, nil])
        },

        Scenario("A superseded transition ends and calls its completion") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.imageTransition = halfway(.crossfade())
            picture.setImage(
                with: stage.url(0xFF0000),
                options: BindingOptions(awaitsTransition: true),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            expect(stage.results.isEmpty)
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(picture.currentImage?.color, 0x0000FF)
            // Its image was in place, so that it has not failed.
            expectEqual(stage.results.map(\.errorCode), [nil, nil])
            // The transition of a widget that is destroyed in between does the same.
            picture.setImage(
                with: stage.url(0x00FF00),
                options: BindingOptions(awaitsTransition: true),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x00FF00 }))
            stage.remove(picture.widget)
            stage.waitForResults(3)
        },

        Scenario("An app's own transition draws each frame") {
            let drawn = try middle(ImageTransition(Nothing()))
            expectEqual(drawn.color(0.5, 0.5), 0x0000FF)
            expectEqual(ImageEasing.easeIn.value(at: 0.5), 0.125)
            expectEqual(ImageEasing.easeOut.value(at: 0.5), 0.875)
            expectEqual(ImageEasing.easeInOut.value(at: 0.5), 0.5)
            expectEqual(ImageEasing.linear.value(at: 2), 1)
        },
    ]
}
