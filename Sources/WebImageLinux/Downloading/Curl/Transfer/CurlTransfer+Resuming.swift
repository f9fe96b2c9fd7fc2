import FoundationEssentials
import WebImageCore

// What a later transfer may resume.
extension CurlTransfer {
    /// The part of the body that a later transfer may resume: what has arrived, or what this transfer was about to
    /// resume when nothing of the body has arrived.
    var partialBody: PartialBody? {
        guard exchange.head != nil, case .accepted = exchange.verdict else {
            // What follows the part was of no use.
            return exchange.resumedCount == nil ? resumed : nil
        }
        guard exchange.body.count > 0, exchange.expectedCount.map({ exchange.body.count <= $0 }) ?? true,
            let version = resumableVersion
        else { return nil }
        return PartialBody(data: exchange.body.compactData(expected: exchange.expectedCount), version: version)
    }

    /// The version that arrives, if the server may continue a part of it.
    private var resumableVersion: PartialBody.Version? {
        guard let head = exchange.head, key.validators == nil, exchange.request.method == "GET",
            exchange.decoder == nil, head.headers["content-encoding"] == nil,
            head.headers["accept-ranges"]?.lowercased() != "none",
            // A part of a range that the app has asked for has another place in the whole.
            exchange.request.headers.field("range") == nil, exchange.resumedCount != nil || head.status == 200
        else { return nil }
        if exchange.resumedCount != nil { return exchange.part?.version }
        let sent = head.headers["date"].flatMap(ResponseHead.date) ?? exchange.requestTime
        let changed = head.headers["last-modified"].flatMap(ResponseHead.date)
        return PartialBody.Version(
            url: exchange.request.url,
            metadata: metadata(of: head),
            hasStrongDate: changed.map { sent.timeIntervalSince($0) >= 60 } ?? false,
            totalCount: exchange.expectedCount
        )
    }
}
