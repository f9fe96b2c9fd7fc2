import FoundationEssentials
import GtkWebImage

/// The last loads of a manager, made of the steps that it reports.
struct LoadLog: Sendable {
    /// The largest number of lines.
    static let limit = 500

    /// The lines, the oldest first. Their numbers follow each other.
    private(set) var lines: [LoadLine] = []
    private var nextID = 0
    /// The lines of loads that have not ended.
    private var openLines: [ObjectIdentifier: Int] = [:]
    /// The same by URL, for the steps that loads share.
    private var openLinesByURL: [URL: [Int]] = [:]
    /// The lines of images that widgets are taking from memory, on the main thread.
    private var hits: [URL: Int] = [:]

    init() {}

    /// The number of loads that were seen so far.
    var count: Int { nextID }

    /// Removes all lines. Loads that run are forgotten.
    mutating func clear() {
        let count = nextID
        self = LoadLog()
        nextID = count
    }

    /// Adds a step of a load. Steps of loads that began before the first one that was seen are ignored.
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
        // Removing from the front moves all others, so that it is done rarely.
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
    /// Whether the load has ended.
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
