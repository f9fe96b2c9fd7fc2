import Synchronization

/// The elements that a manager asks in turn, such as its loaders, newest first. It can be used from any thread.
final class OrderedRegistry<Element: Sendable>: Sendable {
    private let elements: Mutex<[Element]>

    /// - Parameter elements: The elements in the order in which they are asked.
    init(_ elements: [Element] = []) {
        self.elements = Mutex(elements)
    }

    /// Adds an element that is asked before all others.
    func add(_ element: Element) {
        elements.withLock { $0.insert(element, at: 0) }
    }

    /// The elements in the order in which they are asked.
    var all: [Element] { elements.withLock { $0 } }

    /// The first element, in the order in which they are asked, that meets a condition. The condition is evaluated
    /// while no lock is held.
    func first(where condition: (Element) -> Bool) -> Element? { all.first(where: condition) }
}
