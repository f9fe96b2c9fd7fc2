internal import CWebImageCurl
import FoundationEssentials
import WebImageCore

extension ResponseHead {
    /// The metadata that the caches keep, of a response that has just arrived.
    /// - Parameter request: The request that the response answers.
    func metadata(_ request: RequestModifier.Request, requestTime: Date) -> ResponseMetadata {
        var metadata = ResponseMetadata(contentType: headers["content-type"])
        metadata.etag = headers["etag"]
        metadata.lastModifiedDate = headers["last-modified"].flatMap(Self.date)
        // Systems that give all files the time 0 or 1, such as NixOS and ostree, send that date for every version of an image.
        let isDate = metadata.lastModifiedDate.map { $0.timeIntervalSince1970 > 86_400 } ?? true
        metadata.lastModified = isDate ? headers["last-modified"] : nil
        metadata.cacheControl = headers["cache-control"]
        metadata.expires = headers["expires"].map { Self.date($0) ?? .distantPast }
        metadata.date = headers["date"].flatMap(Self.date)
        metadata.age = headers["age"].flatMap { Int64(digits: $0) }.map { Double($0) }
        metadata.vary = headers["vary"].map { Self.varying($0, request.headers) }
        (metadata.requestTime, metadata.responseTime) = (requestTime, Date())
        return metadata
    }

    /// The length of the body in bytes; `nil` if the server does not state it or encodes the body.
    var bodyLength: Int64? {
        guard headers["content-encoding"].map(ContentDecoder.isCoded) != true else { return nil }
        return headers["content-length"].flatMap { Int64(digits: $0) }
    }

    /// The delay that Retry-After demands before the next request, given in seconds or as a date (RFC 9110, 10.2.3).
    var retryAfter: Duration? {
        guard let text = headers["retry-after"] else { return nil }
        if let seconds = Int64(digits: text) { return Duration.seconds(seconds).bounded }
        return Self.date(text).map { Duration.bounded(seconds: $0.timeIntervalSinceNow).bounded }
    }

    /// The first byte and the total length in Content-Range (RFC 9110, 14.4), if the range reaches to the end.
    var restOfBody: (start: Int64, total: Int64)? {
        guard let text = headers["content-range"], text.lowercased().hasPrefix("bytes ") else { return nil }
        let numbers = text.dropFirst(6).split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "/" }
            .map { Int64(digits: $0) }
        guard numbers.count == 3, let start = numbers[0], let end = numbers[1], let total = numbers[2],
            start <= end, end < total, end == total - 1
        else { return nil }
        return (start, total)
    }

    /// Parses a date in any of the three formats of RFC 9110, 5.6.7.
    static func date(_ text: String) -> Date? {
        let seconds = curl_getdate(text, nil)
        return seconds < 0 ? nil : Date(timeIntervalSince1970: Double(seconds))
    }

    /// The largest number of varying fields. A response that varies by more is treated like one that varies by "*" and
    /// not reused, because each field costs a hash on the network thread, and space in the cache.
    private static let maximumVaryingCount = 32

    private static func varying(_ names: String, _ headers: [String: String]) -> [String: String] {
        let sent = headers.fieldsByLowercasedName
        let fields = names.lowercased().split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        guard fields.count <= maximumVaryingCount else { return ["*": ""] }
        return Dictionary(fields.filter { !$0.isEmpty }.map { ($0, VaryingField.text(for: sent[$0] ?? "")) }) { $1 }
    }
}
