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
            Self.problems(line), Self.request(line, cacheKey), Self.image(line), Self.stages(line), Self.response(line),
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
        let key = cacheKey == line.url.absoluteString ? "The URL" : URL(string: cacheKey)?.textForMessages ?? cacheKey
        let values = [("URL", line.address), ("Key", key), ("Source", line.sourceName)]
        return Group(title: "Request", values: values.map { Value(name: $0, text: $1) })
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
            values.append(Value(name: stage.rawValue, text: line.duration(of: stage).inMilliseconds))
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
            values += line.shownHeaders.map { Value(name: $0.name, text: $0.value) }
        }
        return Group(title: "Response", values: values)
    }

    private static func problems(_ line: LoadLine) -> Group {
        var values: [Value] = []
        if case .failed(let error) = line.state {
            values.append(Value(name: "Error", text: "\(error.reason) (\(error.code))"))
            values.append(Value(name: "Remedy", text: error.remedy))
            // The first line of the report has the reason and the remedy.
            let history = error.report.split(separator: "\n").dropFirst().joined(separator: "\n")
            if !history.isEmpty { values.append(Value(name: "History", text: history, isMonospaced: true)) }
        }
        for problem in line.problems(now: .now) {
            if let advice = problem.advice(for: line) { values.append(Value(name: problem.rawValue, text: advice)) }
        }
        for (number, retry) in line.retries.enumerated() {
            let attempt = line.retryCount - line.retries.count + number + 1
            let text = "\(retry.error.reason), again after \(retry.delay.inMilliseconds)"
            values.append(Value(name: "Attempt \(attempt)", text: text))
        }
        return Group(title: "Problems", values: values)
    }
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
