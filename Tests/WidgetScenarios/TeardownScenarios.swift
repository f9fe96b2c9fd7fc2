internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

/// Events that can happen to a widget during its loads.
private enum Step: CaseIterable {
    case destroyWindow, dropWrapper, removeWidget, answer
}

extension Scenario {
    static let teardown: [Scenario] = [
        Scenario(
            "No completion is lost when windows, widgets, wrappers and responses go and come in any order"
        ) {
            let freed = UnsafeMutablePointer<Int>.allocate(capacity: 1)
            freed.initialize(to: 0)
            defer { freed.deallocate() }
            var orders = 0
            for order in permutations(Step.allCases) {
                let gate = ServerGate()
                let stage = try Stage(heldBy: gate)
                var picture: Picture? = stage.addImage()
                var button: Button? = Button()
                stage.append(try require(button).widget)
                stage.present()
                g_object_weak_ref(
                    try require(picture).widget.as(GObject.self),
                    { count, _ in count!.assumingMemoryBound(to: Int.self).pointee += 1 },
                    freed
                )
                picture?.imageIndicator = .activity(size: 20, delay: .zero)
                picture?.imageTransition = .crossfade(duration: .seconds(600))
                picture?.imageBinding.retriesOnClick = true
                picture?.setImage(
                    with: stage.url(0x336699),
                    options: BindingOptions(awaitsTransition: true),
                    completion: stage.completion
                )
                picture?.imageBinding.highlighted.setImage(with: stage.url(1), completion: stage.completion)
                button?.setBackgroundImage(with: stage.url(2), completion: stage.completion)
                button?.setImage(
                    with: stage.url(3),
                    for: .prelight,
                    completion: stage.completion
                )
                expect(MainLoopPump.run(until: { gate.waitingCount > 0 }))
                let widget = try require(picture).widget
                var isInWindow = true
                for step in order {
                    switch step {
                    case .destroyWindow:
                        gtk_window_destroy(stage.window.as(GtkWindow.self))
                        isInWindow = false
                    case .dropWrapper: (picture, button) = (nil, nil)
                    case .removeWidget: if isInWindow { stage.remove(widget); isInWindow = false }
                    case .answer: gate.open()
                    }
                    MainLoopPump.runPending()
                }
                // The completion of an image that is on screen at the end waits for its transition.
                if picture == nil, isInWindow { gtk_window_destroy(stage.window.as(GtkWindow.self)) }
                stage.waitForResults(4)
                stage.waitUntilIdle()
                expectEqual(stage.results.count, 4, "\(order)")
                orders += 1
            }
            expectEqual(orders, 24)
            MainLoopPump.runPending()
            expectEqual(freed.pointee, orders, "images were freed")
        },

        Scenario("A widget that moves from window to window keeps its load and its image") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            let other = gtk_window_new()!
            stage.remove(picture.widget)
            gtk_window_set_child(other.as(GtkWindow.self), picture.widget)
            gtk_window_present(other.as(GtkWindow.self))
            gate.open()
            stage.waitForResults(1)
            expectEqual(stage.results.map(\.errorCode), [nil])
            expectEqual(picture.currentImage?.color, 0x336699)
            expectEqual(stage.server.requests.count, 1)
            gtk_window_destroy(other.as(GtkWindow.self))
        },
    ]
}

/// All permutations of the elements.
private func permutations<T>(_ things: [T]) -> [[T]] {
    guard let first = things.first else { return [[]] }
    return permutations(Array(things.dropFirst())).flatMap { rest in
        (0...rest.count).map { index in
            var order = rest
            order.insert(first, at: index)
            return order
        }
    }
}
