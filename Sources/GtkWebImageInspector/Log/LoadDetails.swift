import FoundationEssentials
import GtkWebImage
import WebImageCore

/// All known facts about a load, as groups of names and values.
struct LoadDetails: Sendable, Equatable {
    /// A heading and its values.
    struct Group: Sendable, Equatable {
        let title: String
        var values: [Value]
    }

    /// A name and its value.
    struct Value: Sendable, Equatable {
        let name: String
        let text: String
        /// Whether the text has columns.
        var isMonospaced = false
    }

    /// The groups that have values.
    let groups: [Group]

    init(_ line: LoadLine, cacheKey: String) {
        groups = [
            Self.request(line, cacheKey), Self.image(line), Self.stages(line), Self.response(line), Self.error(line),
        ]
        .filter { !$0.values.isEmpty }
    }

    /// The groups as text.
    var text: String {
        groups.map { group in
            ([group.title] + group.values.map { "  \($0.name): \($0.text)" }).joined(separator: "\n")
        }
        .joined(separator: "\n\n")
    }

    private static func request(_ line: LoadLine, _ cacheKey: String) -> Group {
        var values = [Value(name: "URL", text: line.address)]
        // Usually the key equals the URL; then printing it would reveal the secrets of the URL.
        if cacheKey != line.url.absoluteString {
            values.append(Value(name: "Key", text: URL(string: cacheKey)?.textForMessages ?? cacheKey))
        } else {
            values.append(Value(name: "Key", text: "The URL"))
        }
        values.append(Value(name: "Source", text: line.sourceName))
        return Group(title: "Request", values: values)
    }

    private static func image(_ line: LoadLine) -> Group {
        var values: [Value] = []
        if let size = line.pixelSize {
            values.append(Value(name: "Decoded", text: "\(size.text) pixels, \(line.pixelByteCount.inBytes)"))
        }
        if let size = line.naturalSize { values.append(Value(name: "File", text: "\(size.text) pixels")) }
        if let format = line.format { values.append(Value(name: "Format", text: format.rawValue)) }
        if line.partialCount > 0 { values.append(Value(name: "Partial images", text: "\(line.partialCount)")) }
        return Group(title: "Image", values: values)
    }

    private static func stages(_ line: LoadLine) -> Group {
        var values: [Value] = []
        if let queued = line.queuedDuration { values.append(Value(name: "Queued", text: queued.inMilliseconds)) }
        for stage in LoadStage.allCases where line.spans.contains(where: { $0.stage == stage }) {
            values.append(Value(name: stage.name, text: line.duration(of: stage).inMilliseconds))
        }
        if let duration = line.duration { values.append(Value(name: "Total", text: duration.inMilliseconds)) }
        return Group(title: "Stages", values: values)
    }

    private static func response(_ line: LoadLine) -> Group {
        var values: [Value] = []
        if let metrics = line.metrics {
            values.append(Value(name: "Received", text: Int(metrics.receivedByteCount).inBytes))
            let connection = metrics.isReusedConnection ? "open connection" : "new connection"
            if !metrics.protocolName.isEmpty {
                values.append(Value(name: "Protocol", text: "\(metrics.protocolName), \(connection)"))
            }
            values.append(Value(name: "Server", text: metrics.cacheDecision.text))
            if metrics.redirectCount > 0 { values.append(Value(name: "Redirects", text: "\(metrics.redirectCount)")) }
        }
        if let head = line.head {
            values.append(Value(name: "Status", text: "\(head.status)"))
            if head.url != line.url { values.append(Value(name: "Answered by", text: head.url.textForMessages)) }
            for (name, value) in head.headers.sorted(by: { $0.key < $1.key }) {
                let isShown = harmlessHeaders.contains(name)
                values.append(Value(name: name, text: isShown ? String(value.prefix(300)) : "(hidden)"))
            }
        }
        return Group(title: "Response", values: values)
    }

    private static func error(_ line: LoadLine) -> Group {
        var values = line.retries.enumerated().map { number, retry in
            Value(
                name: "Attempt \(number + 1)",
                text: "\(retry.error.reason), again after \(retry.delay.inMilliseconds)"
            )
        }
        if case .failed(let error) = line.state {
            values.append(Value(name: "Error", text: "\(error.reason) (\(error.code))"))
            values.append(Value(name: "Remedy", text: error.remedy))
            values.append(Value(name: "History", text: error.report, isMonospaced: true))
        }
        return Group(title: "Error", values: values)
    }

    /// The header fields without personal data or secrets. The values of all others are left out.
    private static let harmlessHeaders: Set<String> = [
        "accept-ranges", "age", "cache-control", "content-encoding", "content-length", "content-range", "content-type",
        "date",
        "etag", "expires", "last-modified", "retry-after", "server", "vary",
    ]
}

extension TransferMetrics.CacheDecision {
    fileprivate var text: String {
        switch self {
        case .fetched: "Sent the whole body"
        case .replaced: "Replaced the cached copy"
        case .notModified: "Confirmed the cached copy"
        case .resumed(let count): "Sent the rest after \(Int(count).inBytes)"
        }
    }
}
