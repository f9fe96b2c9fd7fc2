/// Elements by priority, first come first served within a priority; each can be taken out or moved by its number.
///
/// Taking out and moving leave a stale number behind in a list, which is skipped when its turn comes.
package struct PriorityQueue<Element> {
    private struct Entry {
        var priority: ImagePriority
        let element: Element
    }

    private var entries: [UInt64: Entry] = [:]
    private var lists = [NumberQueue](repeating: NumberQueue(), count: ImagePriority.allCases.count)
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

    /// The element that came first among those of the highest priority.
    package mutating func pop() -> Element? {
        for index in lists.indices.reversed() {
            while let number = lists[index].popFirst() {
                guard entries[number]?.priority.rawValue == index else { continue }
                return entries.removeValue(forKey: number)?.element
            }
        }
        return nil
    }

    package mutating func remove(_ number: UInt64) -> Element? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        // With nothing left the stale numbers go too: a storm of cancels does not grow the lists.
        if entries.isEmpty { lists = [NumberQueue](repeating: NumberQueue(), count: lists.count) }
        return entry.element
    }

    /// Puts an element at the end of another priority.
    package mutating func move(_ number: UInt64, to priority: ImagePriority) {
        guard let old = entries[number]?.priority, old != priority else { return }
        entries[number]?.priority = priority
        lists[priority.rawValue].append(number)
    }
}

/// First in, first out; the array is compacted when its first half is spent.
private struct NumberQueue {
    private var numbers: [UInt64] = []
    private var head = 0

    mutating func append(_ number: UInt64) {
        numbers.append(number)
    }

    mutating func popFirst() -> UInt64? {
        guard head < numbers.count else { return nil }
        let number = numbers[head]
        head += 1
        if head > 32, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
        return number
    }
}
