internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Observation
import TestSupport
import WebImageTesting

/// Shows whether the library still holds a handler that captures it.
private final class Token: Sendable {}

extension Scenario {
    static let handlers: [Scenario] = [
        Scenario("Nothing of the handlers of a load is kept after its end, however it has ended") {
            let stage = try Stage()
            let (picture, hidden, manual) = (stage.addImage(), Picture(), stage.addImage())
            stage.present()
            let missing = stage.server.url("/missing.png")
            @MainActor func load(_ picture: Picture, _ url: URL, display: BindingOptions.Display = .automatic) -> () ->
                Bool
            {
                let token = Token()
                picture.setImage(
                    with: url,
                    options: BindingOptions(display: display),
                    manager: stage.manager,
                    progress: { _, _ in _ = token },
                    partial: { _ in _ = token },
                    completion: stage.completion
                )
                return { [weak token] in token == nil }
            }
            // Given loads that succeed, fail, are cancelled before their start, and show nothing
            let checks = [
                load(picture, stage.url(0x336699)), load(hidden, stage.url(0x336699)),
                load(manual, missing, display: .manual),
            ]
            hidden.cancelCurrentImageLoad()
            stage.waitForResults(3)
            let failing = load(picture, missing)
            stage.waitForResults(4)
            // Then their handlers are gone, though the widgets are not
            for isGone in checks + [failing] { expect(MainLoopPump.run(until: isGone)) }
            expect(picture.currentImageTask != nil && hidden.currentImageTask != nil)
        },

        Scenario("A main loop that runs within a completion gets the results of other loads") {
            let stage = try Stage()
            let (first, second) = (stage.addImage(), stage.addImage())
            stage.present()
            var isDone = false
            first.setImage(with: stage.url(0x336699), manager: stage.manager) { _ in
                for color: UInt32 in [0x445566, 0x778899] {
                    second.setImage(with: stage.url(color), manager: stage.manager, completion: stage.completion)
                    stage.waitForResults(color == 0x445566 ? 1 : 2)
                }
                isDone = true
            }
            expect(MainLoopPump.run(until: { isDone }))
            expectEqual(second.currentImage?.color, 0x778899)
            // And the outer loop goes on
            first.setImage(with: stage.url(0xAABBCC), manager: stage.manager, completion: stage.completion)
            stage.waitForResults(3)
            expectEqual(first.currentImage?.color, 0xAABBCC)
        },

        Scenario("Whoever observes the state of an image may set another one") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x0000FF), manager: stage.manager, completion: stage.completion)
            stage.waitForResults(1)
            // When another image is set as soon as the state changes from that of a load, or of an image that is cleared
            for isCleared in [false, true] {
                picture.setImage(with: stage.url(isCleared ? 0x00FF00 : 0xFF0000), manager: stage.manager)
                let progress = picture.imageProgress
                withObservationTracking {
                    _ = progress.state
                } onChange: {
                    MainActor.assumeIsolated {
                        _ = picture.setImage(
                            with: stage.url(0x0000FF),
                            manager: stage.manager,
                            completion: stage.completion
                        )
                    }
                }
                if isCleared { picture.clearImage() }
                stage.waitForResults(isCleared ? 3 : 2)
                stage.waitUntilIdle()
                expectEqual(picture.currentImage?.color, 0x0000FF)
            }
        },

        Scenario("A load that the app has cancelled does not start again in another window or place") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let pictures = [stage.addImage(), stage.addImage()]
            stage.present()
            for (number, picture) in pictures.enumerated() {
                picture.setImage(
                    with: stage.url(UInt32(number + 1)),
                    manager: stage.manager,
                    completion: stage.completion
                )
            }
            expect(MainLoopPump.run(until: { gate.waitingCount == 2 }))
            // When one is cancelled before its widget leaves the window, and the other one afterwards
            pictures[0].cancelCurrentImageLoad()
            for picture in pictures { stage.remove(picture.widget) }
            stage.waitForResults(2)
            pictures[1].cancelCurrentImageLoad()
            for picture in pictures { stage.append(picture.widget) }
            expect(stage.waitForFrame())
            gate.open()
            stage.waitUntilIdle()
            // Then neither is loaded again
            expectEqual(stage.server.requests.count, 2)
            expect(pictures.allSatisfy { $0.currentImage == nil })
        },

        Scenario("A widget is busy while one of its images loads, and says of each failure until that is over") {
            let gates = [UInt32(1): ServerGate(), 2: ServerGate()]
            let stage = try Stage(gates: gates)
            let button = Button()
            stage.append(button.widget)
            stage.present()
            @MainActor func isBusy() -> Bool {
                gtk_test_accessible_has_state(button.widget.opaque, GTK_ACCESSIBLE_STATE_BUSY) != 0
            }
            @MainActor func isDescribed() -> Bool {
                gtk_test_accessible_has_property(button.widget.opaque, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION) != 0
            }
            button.setImage(with: stage.url(1), manager: stage.manager, completion: stage.completion)
            button.setBackgroundImage(with: stage.url(2), manager: stage.manager, completion: stage.completion)
            expect(MainLoopPump.run(until: { gates.values.allSatisfy { $0.waitingCount == 1 } }))
            gates[1]?.open()
            stage.waitForResults(1)
            expect(isBusy(), "its background loads still")
            gates[2]?.open()
            stage.waitForResults(2)
            expect(!isBusy())
            // A failure of one image is not over when the other one succeeds
            button.setImage(with: stage.server.url("/no"), manager: stage.manager, completion: stage.completion)
            stage.waitForResults(3)
            expect(isDescribed())
            button.setBackgroundImage(with: stage.url(3), manager: stage.manager, completion: stage.completion)
            stage.waitForResults(4)
            expect(isDescribed())
            button.setImage(with: stage.url(4), manager: stage.manager, completion: stage.completion)
            stage.waitForResults(5)
            expect(!isDescribed())
        },
    ]
}
