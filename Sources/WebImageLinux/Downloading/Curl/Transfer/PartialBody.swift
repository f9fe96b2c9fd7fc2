import FoundationEssentials
import WebImageCore

/// The part of a body that arrived before its transfer was interrupted.
struct PartialBody {
    var data: Data
    /// The URL that sent it, after redirects and the request modifier. Another URL may use the same entity tag.
    let url: URL
    /// The metadata of the response.
    let metadata: ResponseMetadata
    /// Whether its date was at least a minute old, so that no other version of the same second can exist.
    let hasStrongDate: Bool
    /// The length of the whole body; `nil` if the server did not state it.
    let totalCount: Int64?

    /// The value of If-Range: a strong entity tag, else a strong date (RFC 9110, 13.1.5 and 8.8.2.2); `nil` if there is
    /// neither.
    var condition: String? {
        if let etag = metadata.etag { return etag.hasPrefix("W/") ? nil : etag }
        return hasStrongDate ? metadata.lastModified : nil
    }

    /// The first byte and the total length of a response that continues this part (RFC 9110, 15.3.7); `nil` for any other response.
    func rest(in head: ResponseHead) -> (start: Int64, total: Int64)? {
        // A server that ignores If-Range may send the rest of another version. It must repeat the entity tag, but need
        // not repeat the date (RFC 9110, 15.3.7).
        let (etag, date) = (head.headers["etag"], head.headers["last-modified"])
        let hasSameTag = etag != nil && etag == metadata.etag
        guard let range = head.restOfBody, range.start == data.count,
            totalCount.map({ $0 == range.total }) ?? hasSameTag,
            hasSameTag || etag == nil && metadata.etag == nil && (date == nil || date == metadata.lastModified)
        else { return nil }
        return range
    }
}

/// The bodies in memory that later transfers can resume. The oldest are dropped if all of them exceed a number of bytes.
struct ResumableBodies {
    private var bodies: [TransferKey: (body: PartialBody, number: UInt64)] = [:]
    /// The keys by age, under the numbers of their bodies.
    private var order = PriorityQueue<TransferKey>()
    private var byteCount = 0

    /// The memory of a body besides its bytes. Servers that break off early must not fill the memory with response heads.
    private static let overhead = 4096

    var isEmpty: Bool { bodies.isEmpty }

    /// Adds a body, unless it has no validator or alone exceeds the limit.
    /// - Parameter limit: The largest number of bytes of all bodies.
    mutating func put(_ body: PartialBody, for key: TransferKey, limit: Int) {
        _ = take(key)
        guard body.condition != nil, body.data.count <= limit else { return }
        bodies[key] = (body, order.push(key, .normal))
        byteCount += body.data.count + Self.overhead
        trim(to: limit.boundedSum(Self.overhead))
    }

    mutating func take(_ key: TransferKey) -> PartialBody? {
        guard let (body, number) = bodies.removeValue(forKey: key) else { return nil }
        _ = order.remove(number)
        byteCount -= body.data.count + Self.overhead
        return body
    }

    /// Drops the oldest bodies until the others take at most a number of bytes.
    mutating func trim(to limit: Int) {
        while byteCount > limit, let key = order.first() { _ = take(key) }
    }
}

extension Exchange {
    /// The part of the body that a later transfer may resume: the bytes that have arrived, or the part that this
    /// transfer was about to resume if none have.
    var partialBody: PartialBody? {
        guard let head, case .accepted = verdict else {
            // The bytes after the part were unusable.
            return resumedCount == nil ? request.resumed : nil
        }
        // The server must be able to continue the part.
        guard body.count > 0, expectedCount.map({ body.count <= $0 }) ?? true, request.key.validators == nil,
            request.message.method == "GET", decoder == nil,
            head.headers["content-encoding"] == nil, head.headers["accept-ranges"]?.lowercased() != "none",
            // A part of a range that the app has requested has another offset in the whole body.
            request.message.headers.field("range") == nil, resumedCount != nil || head.status == 200
        else { return nil }
        let data = body.compactData(expected: expectedCount)
        if resumedCount != nil, var part = request.resumed {
            part.data = data
            return part
        }
        let sent = head.headers["date"].flatMap(ResponseHead.date) ?? requestTime
        let changed = head.headers["last-modified"].flatMap(ResponseHead.date)
        return PartialBody(
            data: data,
            url: request.message.url,
            metadata: metadata(of: head),
            hasStrongDate: changed.map { sent.timeIntervalSince($0) >= 60 } ?? false,
            totalCount: expectedCount
        )
    }
}
