internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageTesting

/// A transition that stays in its middle for as long as a test looks.
@MainActor
private func halfway(_ effect: ImageTransition) -> ImageTransition {
    ImageTransition(effect.effect, duration: .seconds(600), easing: ImageEasing { $0 < 1 ? 0.5 : 1 })
}

/// Shows a second image after a first one, and gives what is drawn in the middle of the way.
@MainActor
private func middle(_ effect: ImageTransition) throws -> WebImage {
    let stage = try Stage()
    let picture = stage.addImage()
    picture.contentFit = .stretch
    stage.present()
    picture.setImage(with: stage.url(0xFF0000), manager: stage.manager, completion: stage.completion)
    stage.waitForResults(1)
    picture.imageTransition = halfway(effect)
    picture.setImage(
        with: stage.url(0x0000FF),
        options: BindingOptions(whileLoading: .placeholderOrCurrentImage),
        manager: stage.manager,
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
        Scenario("In the middle of a cross-fade both images are seen, mixed") {
            let drawn = try middle(.crossfade())
            expect(isNear(drawn.color(0.5, 0.5), 0x7F007F), "\(String(drawn.color(0.5, 0.5), radix: 16))")
        },

        Scenario("In the middle of a slide the new image covers one half, or pushes the old one out") {
            for pushes in [true, false] {
                let drawn = try middle(.slide(from: .right, pushesOutgoing: pushes))
                expectEqual(drawn.color(0.25, 0.5), 0xFF0000, "left")
                expectEqual(drawn.color(0.75, 0.5), 0x0000FF, "right")
            }
            let drawn = try middle(.slide(from: .top))
            expectEqual(drawn.color(0.5, 0.25), 0x0000FF, "top")
            expectEqual(drawn.color(0.5, 0.75), 0xFF0000, "bottom")
        },

        Scenario("In the middle of a zoom the new image is smaller and half seen over the old one") {
            let drawn = try middle(.zoom(from: 0))
            expect(isNear(drawn.color(0.5, 0.5), 0x80007F), "\(String(drawn.color(0.5, 0.5), radix: 16))")
            expectEqual(drawn.color(0.1, 0.5), 0xFF0000)
        },

        Scenario("A flip turns the old image to its edge and the new one from there") {
            let effect = ImageTransition.flip().effect
            expectEqual(effect.layers(at: 0).outgoing.rotation, 0)
            expectEqual(effect.layers(at: 0.49).outgoing.opacity, 1)
            expectEqual(effect.layers(at: 0.51).incoming.opacity, 1)
            expectEqual(effect.layers(at: 1).incoming.rotation, 0)
            // Edge on, next to nothing is drawn.
            let drawn = try middle(.flip())
            expect(![0xFF0000, 0x0000FF].contains(drawn.color(0.25, 0.5)))
        },

        Scenario("A transition ends with the new image alone; whoever waits for it hears of it then") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0xFF0000), manager: stage.manager, completion: stage.completion)
            stage.waitForResults(1)
            picture.imageTransition = .crossfade(duration: .milliseconds(60))
            var wasThere = false
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage, awaitsTransition: true),
                manager: stage.manager,
                completion: { _ in wasThere = true }
            )
            // The image is set before the completion comes.
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x0000FF }))
            expect(!wasThere, "it did not wait")
            // The same again joins the one that waits.
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage, awaitsTransition: true),
                manager: stage.manager,
                completion: stage.completion
            )
            expectEqual(stage.results.count, 1)
            stage.waitForResults(2)
            expect(wasThere)
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0x0000FF)
        },

        Scenario("Images from memory are shown without a transition, unless it is forced") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            for color in [0xFF0000, 0x0000FF] as [UInt32] {
                picture.setImage(with: stage.url(color), manager: stage.manager, completion: stage.completion)
                stage.waitForResults(color == 0xFF0000 ? 1 : 2)
            }
            picture.imageTransition = halfway(.crossfade())
            picture.setImage(with: stage.url(0xFF0000), manager: stage.manager)
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0xFF0000)
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(display: .animated),
                manager: stage.manager
            )
            stage.waitForFrame()
            stage.waitForFrame()
            expect(isNear(rendered(picture.widget)?.color(0.5, 0.5) ?? 0, 0x7F007F))
        },

        Scenario("There is no transition while animations are off, and none off screen; unmapping ends one") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.imageTransition = halfway(.crossfade())
            stage.setAnimations(false)
            picture.setImage(
                with: stage.url(0xFF0000),
                options: BindingOptions(awaitsTransition: true),
                manager: stage.manager,
                completion: stage.completion
            )
            stage.waitForResults(1)
            stage.setAnimations(true)
            picture.setImage(
                with: stage.url(0x0000FF),
                options: BindingOptions(awaitsTransition: true),
                manager: stage.manager,
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x0000FF }))
            stage.waitForFrame()
            expectEqual(stage.results.count, 1)
            gtk_widget_set_visible(picture.widget, 0)
            stage.waitForResults(2)
            expectEqual(stage.results.map(\.errorCode), [nil, nil])
        },

        Scenario("A transition that is superseded ends, and its completion is called") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.imageTransition = halfway(.crossfade())
            picture.setImage(
                with: stage.url(0xFF0000),
                options: BindingOptions(awaitsTransition: true),
                manager: stage.manager,
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            expect(stage.results.isEmpty)
            picture.setImage(with: stage.url(0x0000FF), manager: stage.manager, completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(picture.currentImage?.color, 0x0000FF)
            // And so does that of a widget that is destroyed in the middle of one.
            picture.setImage(
                with: stage.url(0x00FF00),
                options: BindingOptions(awaitsTransition: true),
                manager: stage.manager,
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x00FF00 }))
            stage.remove(picture.widget)
            stage.waitForResults(3)
        },

        Scenario("A transition of an app's own is asked for each frame, and may be anything") {
            let drawn = try middle(ImageTransition(Nothing()))
            expectEqual(drawn.color(0.5, 0.5), 0x0000FF)
            expectEqual(ImageEasing.easeIn.value(at: 0.5), 0.125)
            expectEqual(ImageEasing.easeOut.value(at: 0.5), 0.875)
            expectEqual(ImageEasing.easeInOut.value(at: 0.5), 0.5)
            expectEqual(ImageEasing.linear.value(at: 2), 1)
        },
    ]
}
