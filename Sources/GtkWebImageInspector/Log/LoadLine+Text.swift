import FoundationEssentials
import GtkWebImage
import WebImageCore

// The texts of a line. URLs omit secrets, since the texts may appear in bug reports.
extension LoadLine {
    /// The URL without secrets.
    var address: String { url.textForMessages }

    /// The last part of the URL, on one line.
    package var title: String {
        let name = url.host() == nil && url.scheme != "file" ? address : url.lastPathComponent
        let text = name.isEmpty || name == "/" ? address : name
        return String(text.prefix(200).map { $0.isNewline || $0.unicodeScalars.contains { $0.value < 32 } ? " " : $0 })
    }

    /// The source of the image, in a word.
    package var sourceName: String {
        switch state {
        case .running: "Loading"
        case .delivered(.memory): "Memory"
        case .delivered(.disk): "Disk"
        case .delivered(.loader): isOfNetwork ? "Network" : "File"
        case .delivered(.revalidated): "Confirmed"
        case .failed: "Failed"
        case .cancelled: "Cancelled"
        }
    }

    private var isOfNetwork: Bool { ["http", "https"].contains(url.scheme?.lowercased() ?? "") }

    /// The source, the status of a failure, the time, the bytes and the size on one line.
    var caption: String {
        var parts = [sourceName]
        if case .failed(let error) = state {
            // The name of a code is followed by its number.
            parts.append(error.httpStatus.map { "\($0)" } ?? "\(error.code)".prefix { $0 != " " }.description)
        }
        if let duration { parts.append(duration.inMilliseconds) }
        if receivedByteCount > 0 { parts.append(Int(receivedByteCount).inBytes) }
        if let pixelSize { parts.append(pixelSize.text) }
        if retryCount > 0 { parts.append(retryCount == 1 ? "1 retry" : "\(retryCount) retries") }
        return parts.joined(separator: " · ")
    }

    /// The problems that the caption does not name.
    func mark(now: ContinuousClock.Instant) -> String {
        problems(now: now).filter { $0 != .failed }.map { problem in
            problem == .tooLarge ? "\(oversize ?? 0)× too large" : problem.rawValue
        }
        .joined(separator: ", ")
    }

    /// The header fields of the response, by name. Only those have values that have neither personal data nor secrets.
    var shownHeaders: [(name: String, value: String)] {
        (head?.headers ?? [:]).sorted { $0.key < $1.key }.map { name, value in
            (name, Self.harmlessHeaders.contains(name) ? String(value.prefix(300)) : "(hidden)")
        }
    }

    private static let harmlessHeaders: Set<String> = [
        "accept-ranges", "age", "cache-control", "content-encoding", "content-length", "content-range", "content-type",
        "date", "etag", "expires", "last-modified", "retry-after", "server", "vary",
    ]

    /// The line for users of assistive technology, who cannot see the bars.
    var spokenText: String {
        let stages = LoadStage.allCases.compactMap { stage in
            let duration = duration(of: stage)
            return duration > .zero ? "\(stage.rawValue) \(duration.inMilliseconds)" : nil
        }
        return ([title, caption, mark(now: .now)].filter { !$0.isEmpty } + stages).joined(separator: ", ")
    }

    /// The badge on a widget that shows the image: its source and load time. `nil` for a cancelled load.
    var badge: String? {
        switch state {
        case .running: return "…"
        case .cancelled: return nil
        case .failed: return "Failed"
        case .delivered: return duration.map { "\(sourceName) \($0.inMilliseconds)" }
        }
    }
}

extension Duration {
    /// The time with a unit from µs to s, and few digits.
    package var inMilliseconds: String {
        let value = self / .milliseconds(1)
        if value < 0.1 { return "\(Int((value * 1000).rounded())) µs" }
        if value < 9.95 { return "\(Int(value)).\(Int((value * 10).rounded(.down)) % 10) ms" }
        if value < 9_999 { return "\(Int(value.rounded())) ms" }
        let tenths = Int(min(value / 100, 1e12))
        return "\(tenths / 10).\(tenths % 10) s"
    }
}

extension Int {
    /// The number of bytes with a unit.
    package var inBytes: String {
        switch self {
        case ..<1000: "\(self) B"
        case ..<1_000_000: "\((self + 500) / 1000) kB"
        default: "\(self / 1_000_000).\(self / 100_000 % 10) MB"
        }
    }
}

extension PixelSize {
    var text: String { "\(width) × \(height)" }
}
