internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Observation
import TestSupport
import WebImageTesting

/// Cancels the load of a widget in the end.
private final class Canceller: Sendable {
    private let picture: Picture

    init(_ picture: Picture) {
        self.picture = picture
    }

    deinit {
        MainActor.assumeIsolated { [picture] in picture.cancelImageLoad() }
    }
}

@MainActor
private func isShown(_ progress: ImageProgress) -> Bool {
    if case .shown = progress.state { true } else { false }
}

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
            hidden.cancelImageLoad()
            stage.waitForResults(3)
            let failing = load(picture, missing)
            stage.waitForResults(4)
            // Then their handlers are gone, though the widgets are not
            for isGone in checks + [failing] { expect(MainLoopPump.run(until: isGone)) }
            expect(picture.imageBinding.task != nil && hidden.imageBinding.task != nil)
        },

        Scenario("A main loop that runs within a completion gets the results of other loads") {
            let stage = try Stage()
            let (first, second) = (stage.addImage(), stage.addImage())
            stage.present()
            var isDone = false
            first.setImage(with: stage.url(0x336699)) { _ in
                for color: UInt32 in [0x445566, 0x778899] {
                    second.setImage(with: stage.url(color), completion: stage.completion)
                    stage.waitForResults(color == 0x445566 ? 1 : 2)
                }
                isDone = true
            }
            expect(MainLoopPump.run(until: { isDone }))
            expectEqual(second.currentImage?.color, 0x778899)
            // And GTK draws in between
            var (drawn, frames) = (0, 0)
            first.setImage(with: stage.url(0x112233)) { _ in
                stage.afterPaint { frames += 1 }
                for number in 0..<100 {
                    stage.manager.load(stage.url(UInt32(number), "8x8")) { _ in
                        let end = ContinuousClock.now + .milliseconds(5)
                        while ContinuousClock.now < end {}
                        drawn += 1
                    }
                }
                _ = MainLoopPump.run(until: {
                    gtk_widget_queue_draw(stage.window)
                    return drawn == 100
                })
                stage.completion(.failure(.cancelled(nil)))
            }
            stage.waitForResults(3)
            expect(frames > 3, "\(frames) frames during 100 deliveries")
            // And the outer loop goes on
            first.setImage(with: stage.url(0xAABBCC), completion: stage.completion)
            stage.waitForResults(4)
            expectEqual(first.currentImage?.color, 0xAABBCC)
        },

        Scenario("Whoever observes the state of an image may set another one") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            stage.waitForResults(1)
            // When another image is set as soon as the state changes from that of a load, or of an image that is cleared
            for isCleared in [false, true] {
                picture.setImage(with: stage.url(isCleared ? 0x00FF00 : 0xFF0000))
                let progress = picture.imageProgress
                withObservationTracking {
                    _ = progress.state
                } onChange: {
                    MainActor.assumeIsolated {
                        _ = picture.setImage(
                            with: stage.url(0x0000FF),
                            completion: stage.completion
                        )
                    }
                }
                if isCleared { picture.clearImage() }
                stage.waitForResults(isCleared ? 3 : 2)
                stage.waitUntilIdle()
                expectEqual(picture.currentImage?.color, 0x0000FF)
                expect(isShown(progress), "\(progress.state)")
            }
            // Or clears the widget as soon as the load begins, which changes the state once more
            let (progress, changes) = (picture.imageProgress, EventLog<Int>())
            withObservationTracking {
                _ = progress.state
            } onChange: {
                changes.add(1)
                if changes.all.count == 1 { MainActor.assumeIsolated { picture.clearImage() } }
            }
            picture.setImage(with: stage.url(0x123456))
            stage.waitUntilIdle()
            expect(picture.currentImage == nil && picture.imageBinding.task == nil)
            expect(gtk_test_accessible_has_state(picture.widget.opaque, GTK_ACCESSIBLE_STATE_BUSY) == 0)
            if case .idle = progress.state {} else { expect(false, "\(progress.state)") }
        },

        Scenario("An object of the app that goes with the handlers of a cancelled load may use the widget") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let pictures = [stage.addImage(), stage.addImage()]
            stage.present()
            pictures[0].setImage(
                with: stage.url(1),
                progress: { [canceller = Canceller(pictures[0])] _, _ in _ = canceller }
            )
            pictures[1].setImage(with: stage.url(2)) { _ in
                pictures[0].cancelImageLoad()
                stage.completion(.failure(.cancelled(nil)))
            }
            expect(MainLoopPump.run(until: { gate.waitingCount == 2 }))
            // When its widget leaves the window, and a completion cancels it before its handlers are gone
            stage.remove(pictures[0].widget)
            pictures[1].cancelImageLoad()
            stage.waitForResults(1)
            gate.open()
            stage.waitUntilIdle()
            expect(pictures[0].imageBinding.task?.isFinished != false)
        },

        Scenario("A load that the app has cancelled does not start again in another window or place") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let pictures = [stage.addImage(), stage.addImage(), stage.addImage(), stage.addImage()]
            stage.present()
            for (number, picture) in pictures.enumerated() {
                picture.setImage(
                    with: stage.url(UInt32(number + 1)),
                    completion: stage.completion
                )
            }
            expect(MainLoopPump.run(until: { gate.waitingCount == 4 }))
            // When one is cancelled before its widget leaves the window, and the others afterwards
            pictures[0].cancelImageLoad()
            for picture in pictures { stage.remove(picture.widget) }
            stage.waitForResults(4)
            pictures[1].cancelImageLoad()
            pictures[2].images.cancel(.image)
            WidgetPointer(pictures[3].nativeWidgetPointer).images.cancelAll()
            for picture in pictures { stage.append(picture.widget) }
            expect(stage.waitForFrame())
            gate.open()
            stage.waitUntilIdle()
            // Then none is loaded again
            expectEqual(stage.server.requests.count, 4)
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
            button.setImage(with: stage.url(1), completion: stage.completion)
            button.setBackgroundImage(with: stage.url(2), completion: stage.completion)
            expect(MainLoopPump.run(until: { gates.values.allSatisfy { $0.waitingCount == 1 } }))
            gates[1]?.open()
            stage.waitForResults(1)
            expect(isBusy(), "its background loads still")
            gates[2]?.open()
            stage.waitForResults(2)
            expect(!isBusy())
            // A failure of one image is not over when the other one succeeds
            button.setImage(with: stage.server.url("/no"), completion: stage.completion)
            stage.waitForResults(3)
            expect(isDescribed())
            button.setBackgroundImage(with: stage.url(3), completion: stage.completion)
            stage.waitForResults(4)
            expect(isDescribed())
            button.setImage(with: stage.url(4), completion: stage.completion)
            stage.waitForResults(5)
            expect(!isDescribed())
        },
    ]
}
