private let prioritiesByRank = ImagePriority.allCases.sorted { $0.rank < $1.rank }

/// The order of elements of the same priority.
package enum QueueOrder: Sendable {
    case oldestFirst
    case newestFirst
}

/// A queue by priority, and within a priority in the order of arrival or by the age of loads. Elements are removed and
/// moved by their numbers.
///
/// Removing and moving leave a stale number in a list. It is skipped when its turn comes.
package struct PriorityQueue<Element> {
    private struct Entry {
        /// The list that has the current number of the element; its numbers in other lists are stale.
        var list: Int
        /// 0 for an element that keeps its place among the others.
        let age: UInt64
        let element: Element
    }

    private var entries: [UInt64: Entry] = [:]
    /// Two lists for each priority, the second for resumed elements. Later lists are served first.
    private var lists = Array(repeating: NumberList(), count: ImagePriority.allCases.count * 2)
    private var serial = Serial()

    package init() {}

    package var count: Int { entries.count }

    /// The length of all lists, including stale numbers.
    var listedCount: Int { lists.reduce(0) { $0 + $1.count } }

    /// All elements, in no particular order.
    var elements: [Element] { entries.values.map(\.element) }

    /// The largest number of elements that a late element overtakes, so that adding it takes little time.
    private static var longestStep: Int { 256 }

    /// - Parameters:
    ///   - isResumed: Whether the element had a turn before. Resumed elements precede the others of their priority.
    ///   - age: The age of the load (``Serial/nextAge()``). The element precedes those of younger loads, even if an
    ///     earlier stage delayed it. Default: the element follows all others.
    /// - Returns: The number of the element, which is unique in this queue.
    package mutating func push(
        _ element: Element,
        _ priority: ImagePriority,
        isResumed: Bool = false,
        age: UInt64 = 0
    ) -> UInt64 {
        let number = serial.next()
        let list = priority.rank * 2 + (isResumed ? 1 : 0)
        entries[number] = Entry(list: list, age: age, element: element)
        insert(number, into: list, age: age)
        return number
    }

    private mutating func insert(_ number: UInt64, into list: Int, age: UInt64) {
        // Stale and repeated numbers must not accumulate.
        if lists[list].count > 64 + 4 * entries.count {
            var kept: Set<UInt64> = []
            lists[list].filter { entries[$0]?.list == list && kept.insert($0).inserted }
        }
        var place = lists[list].count
        if age > 0 {
            let end = max(place - Self.longestStep, 0)
            while place > end, goesBefore(lists[list][place - 1], in: list, age: age) { place -= 1 }
        }
        lists[list].insert(number, at: place)
    }

    /// Whether an element of an age precedes another element. Stale numbers do not count.
    private func goesBefore(_ number: UInt64, in list: Int, age: UInt64) -> Bool {
        guard let entry = entries[number], entry.list == list else { return true }
        return entry.age > age
    }

    /// The priority of the element that ``pop(_:where:)`` would return.
    package mutating func highestPriority() -> ImagePriority? {
        for list in lists.indices.reversed() {
            while let number = lists[list].first {
                if entries[number]?.list == list { return prioritiesByRank[list / 2] }
                lists[list].remove(at: 0)
            }
        }
        return nil
    }

    /// Removes and returns the oldest or newest element of the highest priority.
    /// - Parameter isReady: Whether an element may be returned. Other elements stay in place.
    package mutating func pop(
        _ order: QueueOrder = .oldestFirst,
        where isReady: (Element) -> Bool = { _ in true }
    ) -> Element? {
        for list in lists.indices.reversed() where !lists[list].isEmpty {
            if let number = takeNumber(list, order, where: isReady) {
                return entries.removeValue(forKey: number)?.element
            }
        }
        return nil
    }

    /// The element that ``pop(_:where:)`` would return.
    package mutating func first(_ order: QueueOrder = .oldestFirst) -> Element? {
        for list in lists.indices.reversed() {
            while let number = order == .oldestFirst ? lists[list].first : lists[list].last {
                if let entry = entries[number], entry.list == list { return entry.element }
                lists[list].remove(at: order == .oldestFirst ? 0 : lists[list].count - 1)
            }
        }
        return nil
    }

    private mutating func takeNumber(_ list: Int, _ order: QueueOrder, where isReady: (Element) -> Bool) -> UInt64? {
        var offset = 0
        while offset < lists[list].count {
            let index = order == .oldestFirst ? offset : lists[list].count - 1 - offset
            let number = lists[list][index]
            guard let entry = entries[number], entry.list == list else {
                lists[list].remove(at: index)
                continue
            }
            guard isReady(entry.element) else {
                offset += 1
                continue
            }
            lists[list].remove(at: index)
            return number
        }
        return nil
    }

    package mutating func remove(_ number: UInt64) -> Element? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        // An empty queue drops its stale numbers, so that many cancels do not grow the lists.
        if entries.isEmpty { for list in lists.indices { lists[list].removeAll() } }
        return entry.element
    }

    /// Moves an element to its place in another priority: by its age, or at the end if it has none. A resumed element
    /// also precedes the others there. An element that is moved back gets its old place again.
    /// - Returns: Whether the queue has the element.
    @discardableResult
    package mutating func move(_ number: UInt64, to priority: ImagePriority) -> Bool {
        guard let entry = entries[number] else { return false }
        guard entry.list / 2 != priority.rank else { return true }
        let new = priority.rank * 2 + entry.list % 2
        entries[number]?.list = new
        insert(number, into: new, age: entry.age)
        return true
    }
}

/// A list of numbers whose first number is removed without moving the others.
private struct NumberList {
    private var numbers: [UInt64] = []
    private var start = 0

    var isEmpty: Bool { numbers.isEmpty }
    var count: Int { numbers.count - start }
    var first: UInt64? { isEmpty ? nil : numbers[start] }
    var last: UInt64? { numbers.last }

    subscript(index: Int) -> UInt64 { numbers[start + index] }

    mutating func insert(_ number: UInt64, at index: Int) { numbers.insert(number, at: start + index) }

    mutating func remove(at index: Int) {
        if count == 1 { return removeAll() }
        guard index == 0 else {
            numbers.remove(at: start + index)
            return
        }
        start += 1
        guard start > 64, start > numbers.count / 2 else { return }
        numbers.removeFirst(start)
        start = 0
    }

    mutating func filter(_ isKept: (UInt64) -> Bool) {
        numbers = numbers[start...].filter(isKept)
        start = 0
    }

    /// A short list keeps its memory, because the next number comes soon.
    mutating func removeAll() {
        numbers.removeAll(keepingCapacity: numbers.count <= 256)
        start = 0
    }
}
