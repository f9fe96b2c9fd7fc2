import FoundationEssentials
import WebImageCore

/// What came of a body before its transfer was broken off.
struct PartialBody {
    let data: Data
    /// What the rest has to be a rest of.
    let validators: ResponseMetadata.Validators

    /// What If-Range says: a strong entity tag, else the date (RFC 9110, 13.1.5).
    var condition: String? {
        if let etag = validators.etag { return etag.hasPrefix("W/") ? nil : etag }
        return validators.lastModified
    }
}

/// Bodies that can be continued, the newest ones up to a number of bytes.
struct ResumableBodies {
    private var bodies: [TransferKey: PartialBody] = [:]
    /// The oldest first.
    private var order: [TransferKey] = []
    private var byteCount = 0

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
