import FoundationEssentials
import GtkWebImage
import WebImageCore

/// Loads as an HTTP Archive (HAR 1.2), which the network tools of browsers open.
///
/// Like the texts of a line, it omits secrets. It has no headers of requests, because no load reports them.
enum HTTPArchive {
    /// The archive as JSON.
    /// - Parameters:
    ///   - now: When running loads end.
    ///   - date: The date of `now`.
    static func text(of lines: [LoadLine], now: ContinuousClock.Instant = .now, date: Date = .now) throws(ImageError)
        -> String
    {
        let entries = lines.map { entry(of: $0, now: now, date: date) }
        let creator: JSON = ["name": "GtkWebImage", "version": .text(LibraryVersion.current)]
        let archive: JSON = ["log": ["version": "1.2", "creator": creator, "entries": .list(entries)]]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do { return String(decoding: try encoder.encode(archive), as: UTF8.self) } catch {
            throw ImageError(.encodingFailed, url: nil, reason: "No JSON (\(error))", remedy: "Report this.")
        }
    }

    private static func entry(of line: LoadLine, now: ContinuousClock.Instant, date: Date) -> JSON {
        let start = date.addingTimeInterval((line.start - now) / .seconds(1))
        let timings = timings(of: line, now: now)
        return [
            "startedDateTime": .text(start.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))),
            "time": milliseconds(sum(of: timings)), "timings": .object(timings.mapValues(milliseconds)), "cache": [:],
            "request": request(of: line), "response": response(of: line), "comment": .text(line.caption),
        ]
    }

    private static func request(of line: LoadLine) -> JSON {
        // The path of a file names the user.
        let address = line.url.isFileURL ? URL(filePath: "/\(line.url.lastPathComponent)").absoluteString : line.address
        let query = address.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let items = query.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1).map(String.init)
            return JSON.field(parts.first ?? "", parts.dropFirst().first ?? "")
        }
        return [
            "method": "GET", "url": .text(address), "httpVersion": .text(line.metrics?.protocolName ?? ""),
            "queryString": .list(items), "headers": [], "cookies": [], "headersSize": -1, "bodySize": 0,
        ]
    }

    private static func response(of line: LoadLine) -> JSON {
        let (head, received) = (line.head, line.metrics.map { Double($0.receivedByteCount) })
        let length = head?.headers["content-length"].flatMap { Int64($0) }.map { Double($0) }
        // The length of a compressed body says nothing about its contents.
        let size = head?.headers["content-encoding"] == nil ? length ?? received ?? 0 : -1
        // An image in memory has no head.
        let status = head?.status ?? (line.pixelSize == nil ? 0 : 200)
        var reason = ""
        if case .failed(let error) = line.state { reason = error.reason }
        return [
            "status": .number(Double(status)), "statusText": "", "comment": .text(reason),
            "httpVersion": .text(line.metrics?.protocolName ?? ""), "redirectURL": "", "cookies": [],
            "headers": .list(line.shownHeaders.map { .field($0.name, $0.value) }), "headersSize": -1,
            "content": [
                "size": .number(size), "mimeType": .text(head?.headers["content-type"] ?? ""),
            ],
            "bodySize": .number(received ?? -1),
        ]
    }

    /// The times until the last byte; `nil` for a step that was skipped. Decoding comes later, and has no place in an archive.
    private static func timings(of line: LoadLine, now: ContinuousClock.Instant) -> [String: Duration?] {
        var timings: [String: Duration?] = ["dns": nil, "connect": nil, "ssl": nil, "send": .zero]
        if let metrics = line.metrics {
            if !metrics.isReusedConnection {
                timings["dns"] = metrics.nameLookup
                timings["connect"] = metrics.secureConnect - metrics.nameLookup
                let isSecure = line.url.scheme?.lowercased() == "https"
                if isSecure { timings["ssl"] = metrics.secureConnect - metrics.connect }
            }
            timings["wait"] = metrics.firstByte - metrics.secureConnect
            timings["receive"] = metrics.total - metrics.firstByte
        } else {
            timings["wait"] = line.duration(of: .waiting)
            timings["receive"] = line.duration(of: .transfer)
        }
        let last = line.spans.last { $0.stage == .waiting || $0.stage == .transfer }?.end ?? line.end ?? now
        timings["blocked"] = max(last - line.start - sum(of: timings), .zero)
        return timings
    }

    /// The time for TLS is a part of the time for the connection.
    private static func sum(of timings: [String: Duration?]) -> Duration {
        timings.reduce(.zero) { $1.key == "ssl" ? $0 : $0 + ($1.value ?? .zero) }
    }

    private static func milliseconds(_ duration: Duration?) -> JSON {
        .number(duration.map { ($0 / .microseconds(1)).rounded() / 1000 } ?? -1)
    }
}

/// A JSON value.
private enum JSON: Encodable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    case text(String)
    case number(Double)
    case list([JSON])
    case object([String: JSON])

    static func field(_ name: String, _ value: String) -> JSON { ["name": .text(name), "value": .text(value)] }

    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int) { self = .number(Double(value)) }
    init(arrayLiteral elements: JSON...) { self = .list(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Dictionary(uniqueKeysWithValues: elements)) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .list(let values): try container.encode(values)
        case .object(let values): try container.encode(values)
        }
    }
}
