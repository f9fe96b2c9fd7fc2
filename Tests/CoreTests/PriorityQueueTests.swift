import TestSupport
import Testing

@testable import WebImageCore

@Suite("The priority queue")
struct PriorityQueueTests {
    private func queue(_ elements: [(String, ImagePriority)]) -> (PriorityQueue<String>, [UInt64]) {
        var queue = PriorityQueue<String>()
        let numbers = elements.map { queue.push($0.0, $0.1) }
        return (queue, numbers)
    }

    private func drain(_ queue: inout PriorityQueue<String>, _ order: QueueOrder = .oldestFirst) -> String {
        var elements = ""
        while let element = queue.pop(order) { elements += element }
        return elements
    }

    @Test("The highest priority goes first, then the oldest or the newest element")
    func order() {
        let elements: [(String, ImagePriority)] = [
            ("a", .normal), ("b", .high), ("c", .normal), ("d", .low), ("e", .high),
        ]
        var (first, _) = queue(elements)
        #expect(drain(&first) == "beacd")
        var (last, _) = queue(elements)
        #expect(drain(&last, .newestFirst) == "ebcad")
    }

    @Test("An element that is not ready keeps its place", arguments: [QueueOrder.oldestFirst, .newestFirst])
    func notReady(order: QueueOrder) {
        var (queue, numbers) = queue([("a", .normal), ("b", .normal), ("x", .normal), ("c", .normal), ("d", .low)])
        _ = queue.remove(numbers[2])
        #expect(queue.pop(order) { $0 == "b" } == "b")
        #expect(queue.pop(order) { $0 == "d" } == "d")
        #expect(queue.pop(order) { _ in false } == nil)
        #expect(drain(&queue, order) == (order == .newestFirst ? "ca" : "ac"))
    }

    @Test("Elements with an age go by it within their priority, also after a move, and pass none without one")
    func ages() {
        var queue = PriorityQueue<String>()
        for (name, age) in [("b", 2), ("e", 5), ("a", 1)] as [(String, UInt64)] {
            _ = queue.push(name, .normal, age: age)
        }
        let removed = queue.push("x", .normal, age: 9)
        let moved = queue.push("c", .low, age: 3)
        _ = queue.remove(removed)
        // One that was moved away and back leaves numbers behind, which hide none before them.
        let late = queue.push("f", .normal, age: 6)
        queue.move(late, to: .high)
        queue.move(moved, to: .normal)
        _ = queue.push("d", .normal, age: 4)
        queue.move(late, to: .normal)
        #expect(queue.highestPriority() == .normal)
        #expect(drain(&queue) == "abcdef")
        #expect(queue.highestPriority() == nil)
        // And one without an age is passed by none.
        for (name, age) in [("p", 7), ("q", 0), ("s", 3), ("r", 2)] as [(String, UInt64)] {
            _ = queue.push(name, .normal, age: age)
        }
        #expect(drain(&queue) == "pqrs")
    }

    @Test("Resumed elements go before the others of their priority, oldest first, also after a move")
    func resumed() {
        // Given three elements that are resumed among others, and one that is removed
        var (queue, _) = queue([("a", .normal), ("b", .high), ("c", .normal), ("d", .low)])
        let moved = queue.push("x", .normal, isResumed: true)
        for element in ["y", "z"] { _ = queue.push(element, .normal, isResumed: true) }
        let removed = queue.push("r", .high, isResumed: true)
        // When the first of them moves to a priority that has others
        queue.move(moved, to: .low)
        #expect(queue.remove(removed) == "r")
        // Then each goes first in its own priority
        #expect(queue.first() == "b")
        #expect(drain(&queue) == "byzacxd")
    }

    @Test("An element that is moved and moved back is popped once")
    func moved() {
        var (queue, numbers) = queue([("a", .normal), ("b", .normal)])
        queue.move(numbers[0], to: .low)
        queue.move(numbers[0], to: .normal)
        queue.move(numbers[0], to: .high)
        #expect(drain(&queue) == "ab")
    }

    @Test("Elements that are moved to and fro take no more memory than others")
    func bounded() {
        var (queue, numbers) = queue([("a", .normal), ("b", .normal), ("c", .normal)])
        for _ in 0..<1000 { for priority in [ImagePriority.low, .normal] { queue.move(numbers[1], to: priority) } }
        #expect(queue.listedCount < 200)
        #expect(drain(&queue) == "abc")
    }

    @Test("A number never means a second element, also after all were removed")
    func numbers() {
        var (queue, numbers) = queue([("a", .normal), ("b", .high)])
        for number in numbers { _ = queue.remove(number) }
        #expect(queue.count == 0)
        let number = queue.push("c", .normal)
        #expect(!numbers.contains(number))
        #expect(numbers.allSatisfy { queue.remove($0) == nil })
        #expect(drain(&queue) == "c")
    }

    @Test("After any sequence of operations it agrees with a plain list", arguments: 1...5)
    func model(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = PriorityQueue<Int>()
        var model: [(number: UInt64, element: Int, priority: ImagePriority)] = []
        for element in 0..<1000 {
            let priority = ImagePriority.allCases.randomElement(using: &generator)!
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                model.append((queue.push(element, priority), element, priority))
            case 2 where !model.isEmpty:
                let index = model.indices.randomElement(using: &generator)!
                #expect(queue.remove(model[index].number) == model[index].element)
                model.remove(at: index)
            case 3:
                let isReady = { (element: Int) in element % 3 != 0 }
                let highest = model.filter { isReady($0.element) }.map(\.priority).max()
                let index = model.firstIndex { isReady($0.element) && $0.priority == highest }
                let popped = queue.pop(where: isReady)
                #expect(popped == index.map { model[$0].element })
                if let index { model.remove(at: index) }
            default:
                #expect(queue.count == model.count)
            }
        }
    }
}
