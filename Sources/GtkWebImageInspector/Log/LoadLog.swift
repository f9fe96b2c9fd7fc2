import FoundationEssentials
import GtkWebImage

/// The last loads of a manager, built from reported steps.
struct LoadLog: Sendable {
    /// The largest number of lines.
    static let limit = 500

    /// The lines, the oldest first, with consecutive numbers.
    private(set) var lines: [LoadLine] = []
    private var nextID = 0
    /// The running loads by ID.
    private var openLines: [ObjectIdentifier: Int] = [:]
    /// The running loads by URL, for steps that loads share.
    private var openLinesByURL: [URL: [Int]] = [:]
    /// The lines of memory hits that widgets are receiving on the main thread.
    private var hits: [URL: Int] = [:]
    /// The lines of failed loads, which the next load of the URL continues. So a load that is tried every few seconds fills no list.
    private var failedLines: [URL: Int] = [:]
    /// The number of loads since the log was made.
    private(set) var count = 0

    /// Removes all lines. Running loads are forgotten.
    mutating func clear() {
        let (count, nextID) = (count, nextID)
        self = LoadLog()
        (self.count, self.nextID) = (count, nextID)
    }

    /// Adds a step of a load. Steps of loads that began before the log are ignored.
    mutating func add(_ event: LoadTraceEvent) {
        if case .requested = event.kind { return begin(event) }
        guard let load = event.loadID else { return addShared(event) }
        guard let id = openLines[load] else { return }
        change(id, event)
        guard event.isLast else { return }
        if case .failed = event.kind { failedLines[event.url] = id }
        openLines[load] = nil
        openLinesByURL[event.url]?.removeAll { $0 == id }
        if openLinesByURL[event.url]?.isEmpty == true { openLinesByURL[event.url] = nil }
    }

    private mutating func begin(_ event: LoadTraceEvent) {
        count += 1
        let id = continueFailedLine(event) ?? addLine(event)
        if let load = event.loadID {
            openLines[load] = id
            openLinesByURL[event.url, default: []].append(id)
        } else {
            hits[event.url] = id
        }
    }

    private mutating func continueFailedLine(_ event: LoadTraceEvent) -> Int? {
        guard let id = failedLines.removeValue(forKey: event.url), let index = index(of: id),
            let next = lines[index].next(at: event.time)
        else { return nil }
        lines[index] = next
        return id
    }

    private mutating func addLine(_ event: LoadTraceEvent) -> Int {
        defer { nextID += 1 }
        lines.append(LoadLine(id: nextID, url: event.url, start: event.time))
        // Removing lines from the front moves all others, so it happens rarely.
        if lines.count >= Self.limit * 2 {
            lines.removeFirst(lines.count - Self.limit)
            failedLines = failedLines.filter { index(of: $0.value) != nil }
        }
        return nextID
    }

    private func index(of id: Int) -> Int? {
        lines.first.map { id - $0.id }.flatMap { lines.indices.contains($0) ? $0 : nil }
    }

    private mutating func addShared(_ event: LoadTraceEvent) {
        if let id = hits[event.url], event.isOfMemoryHit {
            change(id, event)
            if event.isLast { hits[event.url] = nil }
        } else {
            for id in openLinesByURL[event.url] ?? [] { change(id, event) }
        }
    }

    private mutating func change(_ id: Int, _ event: LoadTraceEvent) {
        if let index = index(of: id) { lines[index].add(event) }
    }
}

extension LoadTraceEvent {
    /// Whether the step ends its load.
    fileprivate var isLast: Bool {
        switch kind {
        case .delivered, .failed, .cancelled: true
        default: false
        }
    }

    fileprivate var isOfMemoryHit: Bool {
        switch kind {
        case .memoryHit, .delivered: true
        default: false
        }
    }
}
