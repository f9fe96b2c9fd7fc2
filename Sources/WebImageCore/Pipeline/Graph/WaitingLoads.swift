/// A load of an image, or of bytes and no image.
protocol AnyLoadTask: AnyObject, Sendable {
    var request: ImageRequest { get }
    var priority: ImagePriority { get set }
    /// Whether the pipeline is to load the image or bytes.
    var isLoading: Bool { get }
    func cancel()
    /// The request that the interceptors of the manager receive; `nil` for a task that skips them.
    var interceptedRequest: ImageRequest? { get }
}

extension LoadTask: AnyLoadTask {}

/// The loads that wait outside of the job graph, by priority. Within a priority they are in the order in which they
/// arrived, or in the opposite order.
///
/// A waiting load takes a few words. In the graph it would have a job, a fetch, and whatever its loader allocates.
struct WaitingLoads {
    struct Load: Sendable {
        let task: any AnyLoadTask
        /// The age of the load, also after it has entered.
        let age = Serial.nextAge()

        init(_ task: any AnyLoadTask) { self.task = task }

        /// A hash that loads of the same source have in common. Loads of other sources may collide.
        fileprivate var sourceHash: Int { task.request.sourceKey.hashValue }
    }

    private let order: QueueOrder
    private var queue = PriorityQueue<Load>()
    private var numbers: [ObjectIdentifier: UInt64] = [:]
    private var numbersBySource: [Int: [UInt64]] = [:]

    init(newestFirst: Bool) {
        order = newestFirst ? .newestFirst : .oldestFirst
    }

    var isEmpty: Bool { numbers.isEmpty }
    var count: Int { numbers.count }

    /// The priority of the most urgent load.
    mutating func highestPriority() -> ImagePriority? { queue.highestPriority() }

    /// The loads, in no particular order.
    var all: [Load] { queue.elements }

    mutating func add(_ load: Load) {
        let number = queue.push(load, load.task.priority)
        numbers[ObjectIdentifier(load.task)] = number
        numbersBySource[load.sourceHash, default: []].append(number)
    }

    /// Removes a waiting task.
    /// - Returns: The load, which the caller releases while no lock is held; `nil` if the task does not wait.
    mutating func remove(_ task: some AnyLoadTask) -> Load? {
        guard let number = numbers.removeValue(forKey: ObjectIdentifier(task)), let load = queue.remove(number) else {
            return nil
        }
        let hash = load.sourceHash
        numbersBySource[hash]?.removeAll { $0 == number }
        if numbersBySource[hash]?.isEmpty == true { numbersBySource[hash] = nil }
        return load
    }

    /// Moves a task to its current priority.
    /// - Returns: Whether the task waits.
    mutating func updatePriority(of task: some AnyLoadTask) -> Bool {
        guard let number = numbers[ObjectIdentifier(task)] else { return false }
        return queue.move(number, to: task.priority)
    }

    /// Removes and returns the load that is due and all other loads of its source, which will share a fetch with it.
    mutating func next() -> [Load] {
        guard let first = queue.pop(order) else { return [] }
        numbers[ObjectIdentifier(first.task)] = nil
        return [first] + removeAll(withSourceOf: first)
    }

    /// Removes and returns the loads that would share a fetch with a load that enters.
    mutating func removeAll(withSourceOf load: Load) -> [Load] {
        guard !numbersBySource.isEmpty, let found = numbersBySource.removeValue(forKey: load.sourceHash) else {
            return []
        }
        let loads = found.compactMap { queue.remove($0) }
        for load in loads { numbers[ObjectIdentifier(load.task)] = nil }
        return loads
    }
}
