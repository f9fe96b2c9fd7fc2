package import FoundationEssentials
import Synchronization

/// The coders of a manager, asked from the newest to the oldest. From any thread.
package final class CoderRegistry: Sendable {
    private let coders: Mutex<[any ImageDecoding]>

    /// Makes a registry.
    /// - Parameter coders: From the oldest to the newest.
    package init(_ coders: [any ImageDecoding]) {
        self.coders = Mutex(coders)
    }

    /// Adds a coder that is asked before all others.
    package func add(_ coder: any ImageDecoding) {
        coders.withLock { $0.append(coder) }
    }

    /// The newest coder that decodes `format`.
    package func coder(for format: ImageFormat) -> (any ImageDecoding)? {
        coders.withLock { $0.last { $0.canDecode(format) } }
    }

    /// The coder for a file.
    /// - Throws: ``ImageError/Code/badImageData`` when it is no picture, ``ImageError/Code/unsupportedFormat`` when no
    ///   coder on this machine decodes it.
    package func coder(for data: Data, url: URL?) throws(ImageError) -> any ImageDecoding {
        let format = ImageFormat(sniffing: data)
        if let coder = coder(for: format) { return coder }
        guard format != .unknown else {
            throw DecodeOptions(url: url).badData(Self.describe(data))
        }
        throw ImageError(
            .unsupportedFormat,
            url: url,
            reason: "Nothing on this machine decodes \(format.rawValue.uppercased())",
            remedy: format.debianPackage.map { "Install the Debian package \($0)." }
                ?? "Give the manager a coder for it (ImageManagerConfiguration.coders)."
        )
    }

    /// What the bytes are instead of a picture, as far as that helps.
    private static func describe(_ data: Data) -> String {
        guard !data.isEmpty else { return "The body is empty" }
        let start = String(decoding: data.prefix(64), as: UTF8.self).lowercased()
        if start.contains("<!doctype html") || start.contains("<html") {
            return "The body is an HTML page, not a picture"
        }
        return "The \(data.count) bytes are of no known picture format"
    }
}
