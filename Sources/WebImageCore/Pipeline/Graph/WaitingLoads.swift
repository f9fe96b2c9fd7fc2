/// The loads that wait outside of the job graph, by priority, and within a priority in the order in which they came, or in the
/// opposite one.
///
/// Each takes a few words. In the graph it has a job, a fetch, and whatever its loader makes of it.
struct WaitingLoads {
    struct Load: Sendable {
        enum Task {
            case image(ImageTask)
            case data(DataTask)
        }

        let task: Task
        /// The age of the load, wherever it waits.
        let age = Serial.nextAge()

        init(_ task: Task) { self.task = task }

        fileprivate var id: ObjectIdentifier {
            switch task {
            case .image(let task): ObjectIdentifier(task)
            case .data(let task): ObjectIdentifier(task)
            }
        }

        var priority: ImagePriority {
            switch task {
            case .image(let task): task.priority
            case .data(let task): task.priority
            }
        }

        /// A number that loads of the same source have in common. Others may have it as well.
        fileprivate var sourceHash: Int {
            switch task {
            case .image(let task): task.request.sourceKey.hashValue
            case .data(let task): task.current.sourceKey.hashValue
            }
        }
    }

    /// The numbers of the loads of one source. Hardly any source has several.
    private struct Numbers {
        let first: UInt64
        var others: [UInt64] = []
    }

    private let order: QueueOrder
    private var queue = PriorityQueue<Load>()
    private var numbers: [ObjectIdentifier: UInt64] = [:]
    private var numbersBySource: [Int: Numbers] = [:]

    init(newestFirst: Bool) {
        order = newestFirst ? .newestFirst : .oldestFirst
    }

    var isEmpty: Bool { numbers.isEmpty }
    var count: Int { numbers.count }

    /// The priority of the most urgent load.
    mutating func highestPriority() -> ImagePriority? { queue.highestPriority() }

    /// The loads, in no order.
    var all: [Load] { queue.elements }

    mutating func add(_ load: Load) {
        let number = queue.push(load, load.priority)
        numbers[load.id] = number
        if numbersBySource[load.sourceHash]?.others.append(number) == nil {
            numbersBySource[load.sourceHash] = Numbers(first: number)
        }
    }

    /// Removes a task that waits.
    /// - Returns: What the caller releases once no lock is held; `nil` when the task does not wait.
    mutating func remove(_ task: some AnyObject & Sendable) -> Load? {
        guard let number = numbers.removeValue(forKey: ObjectIdentifier(task)), let load = queue.remove(number) else {
            return nil
        }
        forget(number, of: load)
        return load
    }

    /// Moves a task to its present priority.
    /// - Returns: Whether the task waits.
    mutating func updatePriority(of task: some AnyObject & Sendable, to priority: ImagePriority) -> Bool {
        guard let number = numbers[ObjectIdentifier(task)] else { return false }
        return queue.move(number, to: priority)
    }

    /// Removes and returns the load that is due and all others of its source, which share a fetch with it.
    mutating func next() -> [Load] {
        guard let first = queue.pop(order) else { return [] }
        numbers[first.id] = nil
        return [first] + removeAll(withSourceOf: first)
    }

    /// Removes and returns the loads that would share a fetch with one that enters.
    mutating func removeAll(withSourceOf load: Load) -> [Load] {
        guard !numbersBySource.isEmpty, let found = numbersBySource.removeValue(forKey: load.sourceHash) else {
            return []
        }
        var loads = queue.remove(found.first).map { [$0] } ?? []
        if !found.others.isEmpty { loads += found.others.compactMap { queue.remove($0) } }
        for load in loads { numbers[load.id] = nil }
        return loads
    }

    private mutating func forget(_ number: UInt64, of load: Load) {
        guard let found = numbersBySource[load.sourceHash] else { return }
        let left = ([found.first] + found.others).filter { $0 != number }
        numbersBySource[load.sourceHash] = left.first.map { Numbers(first: $0, others: Array(left.dropFirst())) }
    }
}
