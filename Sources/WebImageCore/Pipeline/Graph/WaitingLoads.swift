/// A load of an image, or of bytes and no image.
enum AnyTask: Sendable {
    case image(ImageTask)
    case data(DataTask)

    var id: ObjectIdentifier {
        switch self {
        case .image(let task): ObjectIdentifier(task)
        case .data(let task): ObjectIdentifier(task)
        }
    }

    var priority: ImagePriority {
        switch self {
        case .image(let task): task.priority
        case .data(let task): task.priority
        }
    }

    var isCancelled: Bool {
        switch self {
        case .image(let task): task.isCancelled
        case .data(let task): task.isCancelled
        }
    }

    var image: ImageTask? { if case .image(let task) = self { task } else { nil } }
    var data: DataTask? { if case .data(let task) = self { task } else { nil } }
}

/// The loads that wait outside of the job graph, by priority, and within a priority in the order in which they came, or in the
/// opposite one.
///
/// Each takes a few words. In the graph it has a job, a fetch, and whatever its loader makes of it.
struct WaitingLoads {
    struct Load: Sendable {
        let task: AnyTask
        /// The age of the load, wherever it waits.
        let age = Serial.nextAge()

        init(_ task: AnyTask) { self.task = task }

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
        let number = queue.push(load, load.task.priority)
        numbers[load.task.id] = number
        if numbersBySource[load.sourceHash]?.others.append(number) == nil {
            numbersBySource[load.sourceHash] = Numbers(first: number)
        }
    }

    /// Removes a task that waits.
    /// - Returns: What the caller releases once no lock is held; `nil` when the task does not wait.
    mutating func remove(_ task: AnyTask) -> Load? {
        guard let number = numbers.removeValue(forKey: task.id), let load = queue.remove(number) else {
            return nil
        }
        forget(number, of: load)
        return load
    }

    /// Moves a task to its present priority.
    /// - Returns: Whether the task waits.
    mutating func updatePriority(of task: AnyTask) -> Bool {
        guard let number = numbers[task.id] else { return false }
        return queue.move(number, to: task.priority)
    }

    /// Removes and returns the load that is due and all others of its source, which share a fetch with it.
    mutating func next() -> [Load] {
        guard let first = queue.pop(order) else { return [] }
        numbers[first.task.id] = nil
        return [first] + removeAll(withSourceOf: first)
    }

    /// Removes and returns the loads that would share a fetch with one that enters.
    mutating func removeAll(withSourceOf load: Load) -> [Load] {
        guard !numbersBySource.isEmpty, let found = numbersBySource.removeValue(forKey: load.sourceHash) else {
            return []
        }
        var loads = queue.remove(found.first).map { [$0] } ?? []
        if !found.others.isEmpty { loads += found.others.compactMap { queue.remove($0) } }
        for load in loads { numbers[load.task.id] = nil }
        return loads
    }

    private mutating func forget(_ number: UInt64, of load: Load) {
        guard let found = numbersBySource[load.sourceHash] else { return }
        let left = ([found.first] + found.others).filter { $0 != number }
        numbersBySource[load.sourceHash] = left.first.map { Numbers(first: $0, others: Array(left.dropFirst())) }
    }
}
