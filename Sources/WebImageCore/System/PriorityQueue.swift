internal import DequeModule

/// A queue by priority, and within a priority by age. Each element can be removed or moved by its number.
///
/// Removing and moving leave a stale number behind in a list, which is skipped when its turn comes.
package struct PriorityQueue<Element> {
    /// The order of elements of the same priority.
    package enum Order: Sendable {
        case oldestFirst
        case newestFirst
    }

    private struct Entry {
        var priority: ImagePriority
        let element: Element
    }

    private var entries: [UInt64: Entry] = [:]
    private var lists = Self.emptyLists
    private var serial = Serial()

    private static var emptyLists: [Deque<UInt64>] { Array(repeating: [], count: ImagePriority.allCases.count) }

    package init() {}

    package var count: Int { entries.count }

    /// - Parameter isOldest: Whether the element counts as older than the others of its priority.
    /// - Returns: The number of the element, which no other element of this queue ever has.
    package mutating func push(_ element: Element, _ priority: ImagePriority, isOldest: Bool = false) -> UInt64 {
        let number = serial.next()
        entries[number] = Entry(priority: priority, element: element)
        if isOldest { lists[priority.rank].prepend(number) } else { lists[priority.rank].append(number) }
        return number
    }

    /// Removes and returns the oldest or newest element of the highest priority.
    /// - Parameter isReady: Whether an element may be returned. The others stay where they are.
    package mutating func pop(
        _ order: Order = .oldestFirst,
        where isReady: (Element) -> Bool = { _ in true }
    ) -> Element? {
        for priority in lists.indices.reversed() {
            if let number = takeNumber(priority, order, where: isReady) {
                return entries.removeValue(forKey: number)?.element
            }
        }
        return nil
    }

    /// The element that ``pop(_:where:)`` would return.
    package mutating func first(_ order: Order = .oldestFirst) -> Element? {
        for priority in lists.indices.reversed() {
            while let number = order == .oldestFirst ? lists[priority].first : lists[priority].last {
                if let entry = entries[number], entry.priority.rank == priority { return entry.element }
                if order == .oldestFirst { lists[priority].removeFirst() } else { lists[priority].removeLast() }
            }
        }
        return nil
    }

    private mutating func takeNumber(_ priority: Int, _ order: Order, where isReady: (Element) -> Bool) -> UInt64? {
        var offset = 0
        while offset < lists[priority].count {
            let index = order == .oldestFirst ? offset : lists[priority].count - 1 - offset
            let number = lists[priority][index]
            guard let entry = entries[number], entry.priority.rank == priority else {
                lists[priority].remove(at: index)
                continue
            }
            guard isReady(entry.element) else {
                offset += 1
                continue
            }
            lists[priority].remove(at: index)
            return number
        }
        return nil
    }

    package mutating func remove(_ number: UInt64) -> Element? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        // An empty queue drops its stale numbers, so that a storm of cancels does not grow the lists.
        if entries.isEmpty { lists = Self.emptyLists }
        return entry.element
    }

    /// Removes and returns all elements, in no order.
    package mutating func removeAll() -> [Element] {
        defer {
            entries = [:]
            lists = Self.emptyLists
        }
        return entries.values.map(\.element)
    }

    /// Moves an element to the end of another priority.
    package mutating func move(_ number: UInt64, to priority: ImagePriority) {
        guard let old = entries[number]?.priority, old != priority else { return }
        entries[number]?.priority = priority
        lists[priority.rank].append(number)
    }
}
