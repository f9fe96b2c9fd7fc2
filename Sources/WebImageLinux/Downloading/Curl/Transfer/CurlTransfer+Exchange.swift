import FoundationEssentials
import WebImageCore

extension CurlTransfer {
    /// The state of one HTTP exchange: a request and its response. A redirect replaces it as a whole.
    struct Exchange {
        /// What happens to the body of the response.
        enum Verdict {
            /// The body is the image. This holds until the head says otherwise.
            case accepted
            /// The response is a redirect; its body is discarded.
            case redirected
            /// The server or a proxy demands another request or a credential (401, 407); the body is discarded.
            case refused(ImageError)
            /// The response cannot be used; its body is discarded.
            case failed(ImageError)
            /// The server did not continue the resumed body, so the whole body has to be requested.
            case resumeRefused
        }

        let request: RequestModifier.Request
        /// The URL before the request modifier.
        let target: URL
        var proxy = ProxyChoice.environment
        /// The handle that performs the exchange; `nil` before it is launched and after it has ended.
        var handle: CurlHandle?
        /// Whether a redirect from https led here, so that http will do only if libcurl knows that the host requires TLS
        /// (HSTS), which makes it https.
        let requiresTLS: Bool
        /// Whether no connection that is open may be used.
        var isOnFreshConnection = false
        /// Whether the name server has answered, also that there is no such host.
        var hasEndedLookup = false
        let requestTime = Date()
        let startedAt = ContinuousClock.now
        /// The time at which libcurl was given the request.
        var launchedAt = ContinuousClock.now
        /// An earlier time from which on the limit for connecting counts.
        var connectStart: ContinuousClock.Instant?
        /// The port of the connection that is shut down because nothing has arrived on it.
        var silentPort: Int?
        /// The time at which bytes arrived last; `nil` before the first.
        var lastArrival: ContinuousClock.Instant?
        /// A later time at which the socket of the transfer was found to be active.
        var socketActivity: ContinuousClock.Instant?
        var firstByteAt = ContinuousClock.now

        /// The head of the response, after the response modifier; `nil` before it is complete.
        var head: ResponseHead?
        var verdict = Verdict.accepted
        var body: TransferBody
        /// Removes the codings of the body; `nil` when there are none.
        var decoder: ContentDecoder?
        /// Whether the loads were asked about the first bytes of the body.
        var isLookedAt = false
        /// Whether the app has chosen the codings, which libcurl removes then.
        var isDecodedByCurl = false
        /// The bytes of the body that this exchange brought, without those that were resumed.
        var receivedCount: Int64 = 0
        /// The bytes of the whole body, where the server states it.
        var expectedCount: Int64?
        /// The part of the body whose rest is requested.
        var part: PartialBody?
        /// The bytes that were kept from an interrupted transfer; `nil` when the body was not resumed.
        var resumedCount: Int64?
        /// The demand for a credential with which the request was refused.
        var challenge: Challenge?
        /// Whether the request names a version that need not be sent again.
        var isConditional = false
        /// The user name and password that the server gets, but for those in the URL.
        var credential: NetworkOptions.Credential?
        /// The bytes of the body at the last progress report.
        var reportedCount: Int64 = 0
        var discardedCount = 0
        /// The bytes of all header lines.
        var headByteCount = 0
        var headLineCount = 0
        /// Whether the empty line after the head has arrived. libcurl does not look for it when the connection is closed.
        private(set) var hasWholeHead = false
        var isNearlyComplete = false

        /// The largest size of the head of a response, which is what browsers take.
        static let headLimit = 256 << 10
        /// The largest number of header lines. libcurl goes through all of them to find the next one, so that their cost grows
        /// with the square of their number.
        static let headLineLimit = 500

        private static let discardLimit = 64 << 10

        init(_ request: RequestModifier.Request, _ step: Step, body: TransferBody) {
            self.request = request
            target = step.target
            requiresTLS = step.requiresTLS
            self.body = body
        }

        /// Takes note of the beginning and the end of a head. There is one for each interim response, too, and trailers, which
        /// come after the body, have no status line.
        mutating func noteHeaderLine(_ line: UnsafeRawBufferPointer) {
            if line.starts(with: "HTTP/".utf8) { hasWholeHead = false }
            if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { hasWholeHead = true }
        }

        /// Whether less of a resumed body has arrived than Content-Range says, which libcurl does not look at.
        var isShorterThanRange: Bool { resumedCount != nil && expectedCount.map { body.count < $0 } ?? false }

        /// Whether a resumed body would be longer than Content-Range says with more bytes, which nothing else would stop.
        func wouldExceedRange(by byteCount: Int) -> Bool {
            resumedCount != nil && expectedCount.map { Int64(body.count + byteCount) > $0 } ?? false
        }

        /// Whether the exchange goes over TLS or not at all.
        var isSecure: Bool { requiresTLS || request.url.scheme?.lowercased() == "https" }

        /// The host that is asked, in lower case.
        var host: String { request.url.host()?.lowercased() ?? "" }

        /// Whether more of an unused body was read than keeping the connection is worth.
        var hasDiscardedTooMuch: Bool { discardedCount > Self.discardLimit }

        /// Reads the head of the last response from libcurl.
        func readHead() -> ResponseHead {
            ResponseHead(
                url: request.url,
                status: handle?.status ?? 0,
                headers: handle?.responseHeaders ?? [:]
            )
        }
    }
}
