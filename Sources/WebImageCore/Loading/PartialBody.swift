package import FoundationEssentials
import Synchronization

/// The part of a body that arrived before its transfer was interrupted, in this process or in an earlier one.
package struct PartialBody: Sendable {
    /// The version of a resource that a part belongs to.
    package struct Version: Codable, Sendable, Equatable {
        /// The URL that sent it, after redirects and the request modifier. Another URL may use the same entity tag.
        package var url: URL
        /// What the server has said about it.
        package var metadata: ResponseMetadata
        /// Whether its date was a minute old, so that no other version of the same second can exist.
        package var hasStrongDate: Bool
        /// The bytes of the whole body; `nil` when the server did not say.
        package var totalCount: Int64?

        package init(url: URL, metadata: ResponseMetadata, hasStrongDate: Bool, totalCount: Int64?) {
            self.url = url
            self.metadata = metadata
            self.hasStrongDate = hasStrongDate
            self.totalCount = totalCount
        }

        /// The value of If-Range: a strong entity tag, else a strong date (RFC 9110, 13.1.5 and 8.8.2.2); `nil` when there
        /// is neither.
        package var condition: String? {
            if let etag = metadata.etag { return etag.hasPrefix("W/") ? nil : etag }
            return hasStrongDate ? metadata.lastModified : nil
        }

        /// Whether parts of both are parts of the same bytes.
        package func isSame(as other: Version) -> Bool {
            condition != nil && condition == other.condition && url == other.url && totalCount == other.totalCount
        }
    }

    package let data: Data
    package let version: Version
    /// A salted hash of the header fields of the request (``VaryingField``), which the next one has to have as well; `nil` when the
    /// key of the part says which request it belongs to.
    private let fields: String?
    /// Counts the bytes as long as they are kept.
    private let reservation: MemoryBudget.ArrivingBody?

    package init(
        data: Data,
        version: Version,
        fields: String? = nil,
        reservation: MemoryBudget.ArrivingBody? = nil
    ) {
        self.data = data
        self.version = version
        self.fields = fields
        self.reservation = reservation
    }

    /// Whether the part belongs to what a request asks for.
    package func isPart(ofAnswerTo request: RequestModifier.Request) -> Bool {
        guard request.url == version.url else { return false }
        return fields.map { VaryingField.isText($0, of: request.fieldText) } ?? true
    }
}

extension RequestModifier.Request {
    /// The header fields as one text, whatever their order.
    package var fieldText: String {
        headers.map { "\($0.key.lowercased()): \($0.value)" }.sorted().joined(separator: "\n")
    }
}

/// A part of a body that one transfer takes, so that a request that waits or lasts does not keep it.
package final class PartialBodySlot: Sendable {
    private let body: Mutex<PartialBody?>

    package init(_ body: PartialBody) {
        self.body = Mutex(body)
    }

    package func take() -> PartialBody? { body.withLock { $0.take() } }
}

/// Keeps parts of bodies for the next start of the app.
package protocol PartialBodyKeeping: Sendable {
    /// The size of the smallest body that is kept, in bytes: the rest of a smaller one takes no time worth a file.
    var minimumByteCount: Int { get }

    /// The most bytes that are kept of a body.
    var maximumByteCount: Int { get }

    /// Begins to keep a body. Does not block.
    /// - Parameters:
    ///   - key: The key of the resource in the caches.
    ///   - fields: The header fields of the request.
    ///   - part: The beginning of the body, which may be kept already. Empty for a new one.
    func makeWriter(
        for key: String,
        _ version: PartialBody.Version,
        fields: String,
        after part: Data
    ) -> any PartialBodyWriting

    /// Removes what is kept of a body. Does not block.
    func remove(_ key: String)
}

/// Keeps one body while it arrives. No method blocks; what cannot be written is not kept.
package protocol PartialBodyWriting: Sendable {
    /// Keeps the next bytes, which begin at an offset of the body.
    func append(_ bytes: Data, at offset: Int)

    /// Ends the writing, because the transfer was interrupted. What was appended is kept.
    func close()

    /// Removes what was kept, because the body is complete or of no use.
    func discard()
}
