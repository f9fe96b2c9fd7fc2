import FoundationEssentials
import WebImageCore

/// The part of a body that arrived before its transfer was interrupted.
struct PartialBody {
    /// The version of a resource that a part belongs to.
    struct Version {
        /// The URL that sent it, after redirects and the request modifier. Another URL may use the same entity tag.
        var url: URL
        /// What the server has said about it.
        var metadata: ResponseMetadata
        /// Whether its date was a minute old, so that no other version of the same second can exist.
        var hasStrongDate: Bool
        /// The bytes of the whole body; `nil` when the server did not say.
        var totalCount: Int64?

        /// The value of If-Range: a strong entity tag, else a strong date (RFC 9110, 13.1.5 and 8.8.2.2); `nil` when there
        /// is neither.
        var condition: String? {
            if let etag = metadata.etag { return etag.hasPrefix("W/") ? nil : etag }
            return hasStrongDate ? metadata.lastModified : nil
        }
    }

    let data: Data
    let version: Version
}
