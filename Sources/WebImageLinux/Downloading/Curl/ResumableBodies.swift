import FoundationEssentials
import WebImageCore

/// The part of a body that arrived before its transfer was interrupted.
struct PartialBody {
    let data: Data
    /// The validators of the version that the part belongs to.
    let validators: ResponseMetadata.Validators
    /// Whether the date in the validators was a minute old, so that no other version of the same second can exist.
    let hasStrongDate: Bool
    /// The bytes of the whole body; `nil` when the server did not say.
    let totalCount: Int64?

    /// The value of If-Range: a strong entity tag, else a strong date (RFC 9110, 13.1.5 and 8.8.2.2); `nil` when there
    /// is neither.
    var condition: String? {
        if let etag = validators.etag { return etag.hasPrefix("W/") ? nil : etag }
        return hasStrongDate ? validators.lastModified : nil
    }
}

/// The bodies that later transfers can resume. The oldest are dropped when they exceed a number of bytes.
struct ResumableBodies {
    private var bodies: [TransferKey: PartialBody] = [:]
    /// The keys, oldest first.
    private var order: [TransferKey] = []
    private var byteCount = 0

    /// Adds a body, unless it has no validator or exceeds the limit alone.
    /// - Parameter limit: The bytes that all bodies may have.
    mutating func put(_ body: PartialBody, for key: TransferKey, limit: Int) {
        _ = take(key)
        guard body.condition != nil, body.data.count <= limit else { return }
        bodies[key] = body
        order.append(key)
        byteCount += body.data.count
        while byteCount > limit, let oldest = order.first { _ = take(oldest) }
    }

    mutating func take(_ key: TransferKey) -> PartialBody? {
        guard let body = bodies.removeValue(forKey: key) else { return nil }
        order.removeAll { $0 == key }
        byteCount -= body.data.count
        return body
    }
}
