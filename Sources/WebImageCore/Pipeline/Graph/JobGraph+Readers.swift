// Tasks that want the bytes of a fetch and no image. They wait for the fetch itself.
extension JobGraph {
    /// Adds a task to the fetch of its bytes, which is created if there is none.
    mutating func read(_ task: DataTask, age: UInt64 = Serial.nextAge()) -> [Effect] {
        let request = task.request
        let id = fetch(Fetch.Key(request), for: request, age: age, priority: task.priority)
        updateFetch(id) { $0.readers.append(task) }
        fetchesByReader[ObjectIdentifier(task)] = id
        return startFetch(id) + updatePriority(of: id)
    }

    func readers(of id: Fetch.ID) -> [DataTask] { fetches[id]?.readers ?? [] }

    /// Removes the tasks of a fetch, because they have their bytes or their error.
    mutating func finishReaders(of id: Fetch.ID) -> [DataTask] {
        let readers = readers(of: id)
        guard !readers.isEmpty else { return [] }
        for task in readers { fetchesByReader[ObjectIdentifier(task)] = nil }
        updateFetch(id) { $0.readers = [] }
        return readers
    }
}
