import FoundationEssentials
import WebImageCore

/// The part of a body that arrived before its transfer was interrupted.
struct PartialBody {
    /// The version of a resource that a part belongs to.
    struct Version {
        /// The URL that sent it, after redirects and the request modifier. Another URL may use the same entity tag.
        var url: URL
        /// The metadata of the response.
        var metadata: ResponseMetadata
        /// Whether its date was at least a minute old, so that no other version of the same second can exist.
        var hasStrongDate: Bool
        /// The length of the whole body; `nil` if the server did not state it.
        var totalCount: Int64?

        /// The value of If-Range: a strong entity tag, else a strong date (RFC 9110, 13.1.5 and 8.8.2.2); `nil` if
        /// there is neither.
        var condition: String? {
            if let etag = metadata.etag { return etag.hasPrefix("W/") ? nil : etag }
            return hasStrongDate ? metadata.lastModified : nil
        }
    }

    let data: Data
    let version: Version

    /// The first byte and the total length of a response that continues this part (RFC 9110, 15.3.7); `nil` for any other response.
    func rest(in head: ResponseHead) -> (start: Int64, total: Int64)? {
        // A server that ignores If-Range may send the rest of another version. It must repeat the entity tag, but need
        // not repeat the date (RFC 9110, 15.3.7).
        let (etag, date) = (head.headers["etag"], head.headers["last-modified"])
        let known = version.metadata
        let hasSameTag = etag != nil && etag == known.etag
        guard let range = head.restOfBody, range.start == data.count,
            version.totalCount.map({ $0 == range.total }) ?? hasSameTag,
            hasSameTag || etag == nil && known.etag == nil && (date == nil || date == known.lastModified)
        else { return nil }
        return range
    }
}

extension Exchange {
    /// The part of the body that a later transfer may resume: the bytes that have arrived, or the part that this
    /// transfer was about to resume if none have.
    var partialBody: PartialBody? {
        guard head != nil, case .accepted = verdict else {
            // The bytes after the part were unusable.
            return resumedCount == nil ? request.resumed : nil
        }
        guard body.count > 0, expectedCount.map({ body.count <= $0 }) ?? true, let version = resumableVersion else {
            return nil
        }
        return PartialBody(data: body.compactData(expected: expectedCount), version: version)
    }

    /// The version that is arriving, if the server can continue a part of it.
    private var resumableVersion: PartialBody.Version? {
        guard let head, request.key.validators == nil, request.message.method == "GET", decoder == nil,
            head.headers["content-encoding"] == nil, head.headers["accept-ranges"]?.lowercased() != "none",
            // A part of a range that the app has requested has another offset in the whole body.
            request.message.headers.field("range") == nil, resumedCount != nil || head.status == 200
        else { return nil }
        if resumedCount != nil { return request.resumed?.version }
        let sent = head.headers["date"].flatMap(ResponseHead.date) ?? requestTime
        let changed = head.headers["last-modified"].flatMap(ResponseHead.date)
        return PartialBody.Version(
            url: request.message.url,
            metadata: metadata(of: head),
            hasStrongDate: changed.map { sent.timeIntervalSince($0) >= 60 } ?? false,
            totalCount: expectedCount
        )
    }
}
