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

    /// The source, the time, the bytes and the size on one line.
    var caption: String {
        var parts = [sourceName]
        if let duration { parts.append(duration.inMilliseconds) }
        if let count = metrics?.receivedByteCount, count > 0 { parts.append(Int(count).inBytes) }
        if let pixelSize { parts.append(pixelSize.text) }
        if !retries.isEmpty { parts.append(retries.count == 1 ? "1 retry" : "\(retries.count) retries") }
        return parts.joined(separator: " · ")
    }

    /// The line for users of assistive technology, who cannot see the bars.
    var spokenText: String {
        let stages = LoadStage.allCases.compactMap { stage in
            let duration = duration(of: stage)
            return duration > .zero ? "\(stage.name) \(duration.inMilliseconds)" : nil
        }
        return ([title, caption] + stages).joined(separator: ", ")
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
