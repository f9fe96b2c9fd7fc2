/// Elements by priority, within a priority in the order in which they came or the reverse; each can be taken out or
/// moved by its number.
///
/// Taking out and moving leave a stale number behind in a list, which is skipped when its turn comes.
package struct PriorityQueue<Element> {
    private struct Entry {
        var priority: ImagePriority
        let element: Element
    }

    private var entries: [UInt64: Entry] = [:]
    private var lists = [NumberList](repeating: NumberList(), count: ImagePriority.allCases.count)
    private var lastNumber: UInt64 = 0

    package init() {}

    package var count: Int { entries.count }

    /// - Returns: The number of the element, which no other element of this queue ever has.
    package mutating func push(_ element: Element, _ priority: ImagePriority) -> UInt64 {
        lastNumber += 1
        entries[lastNumber] = Entry(priority: priority, element: element)
        lists[priority.rawValue].append(lastNumber)
        return lastNumber
    }

    /// The element that came first, or last, among those of the highest priority.
    /// - Parameter isReady: Elements of which it says no stay where they are.
    package mutating func pop(newestFirst: Bool = false, where isReady: (Element) -> Bool = { _ in true }) -> Element? {
        for index in lists.indices.reversed() {
            let number = lists[index].take(newestFirst: newestFirst) { number in
                guard let entry = entries[number], entry.priority.rawValue == index else { return .stale }
                return isReady(entry.element) ? .taken : .kept
            }
            if let number { return entries.removeValue(forKey: number)?.element }
        }
        return nil
    }

    package mutating func remove(_ number: UInt64) -> Element? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        // With nothing left the stale numbers go too: a storm of cancels does not grow the lists.
        if entries.isEmpty { lists = [NumberList](repeating: NumberList(), count: lists.count) }
        return entry.element
    }

    /// Takes everything out, in no order.
    package mutating func removeAll() -> [Element] {
        defer { self = PriorityQueue() }
        return entries.values.map(\.element)
    }

    /// Puts an element at the end of another priority.
    package mutating func move(_ number: UInt64, to priority: ImagePriority) {
        guard let old = entries[number]?.priority, old != priority else { return }
        entries[number]?.priority = priority
        lists[priority.rawValue].append(number)
    }
}

/// Numbers that are taken from either end. What is taken from the front leaves a gap, which is closed when half of the
/// list is gap.
private struct NumberList {
    /// What becomes of a number.
    enum Verdict {
        case taken
        case kept
        /// No longer of any use.
        case stale
    }

    private var numbers: [UInt64] = []
    private var head = 0

    mutating func append(_ number: UInt64) {
        numbers.append(number)
    }

    mutating func take(newestFirst: Bool, _ verdict: (UInt64) -> Verdict) -> UInt64? {
        newestFirst ? takeLast(verdict) : takeFirst(verdict)
    }

    private mutating func takeFirst(_ verdict: (UInt64) -> Verdict) -> UInt64? {
        var index = head
        while index < numbers.count {
            let number = numbers[index]
            switch verdict(number) {
            case .kept:
                index += 1
            case .taken:
                drop(index)
                return number
            case .stale:
                // The next number is at the front now, or has moved up to this place.
                let wasFirst = index == head
                drop(index)
                if wasFirst { index = head }
            }
        }
        return nil
    }

    private mutating func takeLast(_ verdict: (UInt64) -> Verdict) -> UInt64? {
        var index = numbers.count - 1
        while index >= head {
            let number = numbers[index]
            switch verdict(number) {
            case .kept: break
            case .taken:
                numbers.remove(at: index)
                return number
            case .stale: numbers.remove(at: index)
            }
            index -= 1
        }
        return nil
    }

    /// Behind elements that are kept it has to be moved up; at the front it costs nothing.
    private mutating func drop(_ index: Int) {
        guard index == head else {
            numbers.remove(at: index)
            return
        }
        head += 1
        if head > 32, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
    }
}
