import Synchronization

/// The elements that a manager asks in turn, such as its loaders, newest first. It can be used from any thread.
final class OrderedRegistry<Element: Sendable>: Sendable {
    private struct State {
        /// The elements in the order in which they are asked.
        var entries: [(number: UInt64, element: Element)] = []
        var serial = Serial()
    }

    private let state = Mutex(State())

    /// - Parameter elements: The elements in the order in which they are asked.
    init(_ elements: [Element] = []) {
        for element in elements.reversed() { add(element) }
    }

    /// Adds an element that is asked before all others.
    /// - Returns: The number of the element, which is unique in this registry.
    @discardableResult
    func add(_ element: Element) -> UInt64 {
        state.withLock { state in
            let number = state.serial.next()
            state.entries.insert((number, element), at: 0)
            return number
        }
    }

    /// Removes the element with a number. The element is released while no lock is held.
    func remove(_ number: UInt64) {
        state.release { state in
            state.entries.firstIndex { $0.number == number }.map { state.entries.remove(at: $0).element }
        }
    }

    /// The elements in the order in which they are asked.
    var all: [Element] { state.withLock { $0.entries }.map(\.element) }

    /// The first element, in the order in which they are asked, that meets a condition. The condition is evaluated
    /// while no lock is held.
    func first(where condition: (Element) -> Bool) -> Element? {
        state.withLock { $0.entries }.first { condition($0.element) }?.element
    }
}
