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

    init() {}

    /// The number of loads since the log was made.
    var count: Int { nextID }

    /// Removes all lines. Running loads are forgotten.
    mutating func clear() {
        let count = nextID
        self = LoadLog()
        nextID = count
    }

    /// Adds a step of a load. Steps of loads that began before the log are ignored.
    mutating func add(_ event: LoadTraceEvent) {
        if case .requested = event.kind { return begin(event) }
        guard let load = event.loadID else { return addShared(event) }
        guard let id = openLines[load] else { return }
        change(id, event)
        guard event.isLast else { return }
        openLines[load] = nil
        openLinesByURL[event.url]?.removeAll { $0 == id }
        if openLinesByURL[event.url]?.isEmpty == true { openLinesByURL[event.url] = nil }
    }

    private mutating func begin(_ event: LoadTraceEvent) {
        let line = LoadLine(id: nextID, url: event.url, start: event.time)
        nextID += 1
        lines.append(line)
        // Removing lines from the front moves all others, so it happens rarely.
        if lines.count >= Self.limit * 2 { lines.removeFirst(lines.count - Self.limit) }
        if let load = event.loadID {
            openLines[load] = line.id
            openLinesByURL[event.url, default: []].append(line.id)
        } else {
            hits[event.url] = line.id
        }
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
        guard let first = lines.first?.id, id >= first, id - first < lines.count else { return }
        lines[id - first].add(event)
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
