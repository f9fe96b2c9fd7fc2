import FoundationEssentials
import WebImageCore

// Parts of bodies: what a later transfer may resume, and what is kept on disk for the next start of the app.
extension CurlTransfer {
    /// What becomes of the bytes of an exchange beside the body in memory.
    enum Keeping {
        /// Too little has arrived for a decision, or too little time has passed.
        case undecided
        /// The bytes are not kept.
        case no
        /// The bytes go to a file, in chunks.
        case yes(any PartialBodyWriting, chunk: Data)
    }

    /// The bytes of a piece of work of the writer. Fewer would mean more of them.
    private static let chunkByteCount = 256 << 10
    /// The time from the first byte on after which a body is kept. One that is complete by then is quickly loaded again.
    private static let keepingDelay = Duration.milliseconds(250)

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

    /// Takes the part that a request has found on disk.
    func takeStoredPart() -> PartialBody? {
        guard configuration.resumableByteCount > 0 else { return nil }
        for operation in operations {
            if let part = operation.request.partialBody?.take() { return part }
        }
        return nil
    }

    /// Drops the part that the server does not continue, here and on disk.
    func forgetPart() {
        guard resumed != nil else { return }
        resumed = nil
        removeStoredPart()
    }

    private func removeStoredPart() {
        guard let request = keepingRequest else { return }
        request.partialBodies?.remove(request.partialBodyKey)
    }
}

// Bytes on their way to the disk.
extension CurlTransfer {
    /// Keeps bytes that have been added to the body.
    func keepOnDisk(_ bytes: UnsafeRawBufferPointer) {
        switch exchange.keeping {
        case .no: break
        case .undecided:
            if let start = keepingStart, start <= exchange.lastArrival ?? start { beginKeeping() }
        case .yes(let writer, var chunk):
            // The chunk has one owner while it grows.
            exchange.keeping = .no
            chunk.append(contentsOf: bytes)
            keep(chunk, writer)
        }
    }

    /// When the body is kept from; `nil` when it is already, or is not going to be.
    var keepingStart: ContinuousClock.Instant? {
        guard case .undecided = exchange.keeping, exchange.body.count > 0 else { return nil }
        guard let store = keepingRequest?.partialBodies else {
            exchange.keeping = .no
            return nil
        }
        guard exchange.expectedCount ?? Int64(exchange.body.count) >= store.minimumByteCount else {
            if exchange.expectedCount != nil { exchange.keeping = .no }
            return nil
        }
        return exchange.firstByteAt + Self.keepingDelay
    }

    /// The request that says where the body is kept.
    private var keepingRequest: LoaderRequest? {
        operations.first { $0.request.partialBodies != nil }?.request
    }

    private func keep(_ chunk: Data, _ writer: any PartialBodyWriting) {
        guard chunk.count >= Self.chunkByteCount else { return exchange.keeping = .yes(writer, chunk: chunk) }
        writer.append(chunk, at: exchange.body.count - chunk.count)
        exchange.keeping = .yes(writer, chunk: Data())
    }

    /// Begins to keep the body, unless it must not be kept.
    func beginKeeping() {
        exchange.keeping = .no
        guard configuration.resumableByteCount > 0, isForEverybody, let request = keepingRequest,
            let store = request.partialBodies, let version = resumableVersion, version.condition != nil,
            version.metadata.vary?["*"] == nil, version.metadata.redirects?.vary?["*"] == nil,
            !CacheDirectives(version.metadata.cacheControl).isNoStore
        else { return }
        let part = exchange.resumedCount == nil ? Data() : exchange.part?.data ?? Data()
        let fields = exchange.request.fieldText
        let writer = store.makeWriter(for: request.partialBodyKey, version, fields: fields, after: part)
        // A copy, since a body that somebody else has, too, is copied as a whole when it grows.
        keep(exchange.body.data.dropFirst(part.count).copied, writer)
    }

    /// Whether the request says nothing about a user, and its answer comes from whom the URL names: other requests get the rest of
    /// what is kept.
    private var isForEverybody: Bool {
        let (request, options) = (exchange.request, key.options)
        guard exchange.credential == nil, !options.handlesCookies, !options.allowsInvalidCertificates,
            configuration.clientCertificate == nil, request.url.userInfo == nil, key.url.userInfo == nil
        else { return false }
        return request.headers.allSatisfy { name, value in
            switch name.lowercased() {
            case "authorization", "cookie", "proxy-authorization": false
            case "cache-control": !CacheDirectives(value).isNoStore
            default: true
            }
        }
    }

    /// Ends the writing.
    /// - Parameters:
    ///   - isResumable: Whether what was written is kept.
    ///   - isCancelled: Whether nobody wants the body now. Then nothing is written that was not begun.
    func endKeeping(isResumable: Bool, isCancelled: Bool = false) {
        if isResumable, !isCancelled, keepingStart != nil, exchange.body.count >= Self.chunkByteCount { beginKeeping() }
        guard case .yes(let writer, let chunk) = exchange.keeping else {
            // The body is complete, and was not before.
            if !isResumable, exchange.resumedCount != nil { removeStoredPart() }
            return
        }
        exchange.keeping = .no
        guard isResumable else { return writer.discard() }
        if !chunk.isEmpty { writer.append(chunk, at: exchange.body.count - chunk.count) }
        writer.close()
    }
}

extension Data {
    /// The same bytes in memory of their own.
    fileprivate var copied: Data { withUnsafeBytes { Data($0) } }
}
