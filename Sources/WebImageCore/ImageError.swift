public import FoundationEssentials

/// Why a load ended without an image: a stable code, the URL, the cause, and what to do.
public struct ImageError: Error, Sendable {
    /// The kind of an error, as a number that is the same in every release. 1000, 1001 and 2000 to 2004 correspond to
    /// the same codes of SDWebImageErrorDomain.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number, which never changes its meaning.
        public let rawValue: Int
        /// Creates a code from its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// There is no URL, or no loader accepts it.
        public static let invalidURL = Code(rawValue: 1000)
        /// The bytes are not an image, or the image is damaged or incomplete.
        public static let badImageData = Code(rawValue: 1001)
        /// No decoder on this machine supports the format of the image, or no program opens its file from a menu.
        public static let unsupportedFormat = Code(rawValue: 1010)
        /// The image has more pixels than the limit.
        public static let imageTooLarge = Code(rawValue: 1011)
        /// The transformer failed.
        public static let transformFailed = Code(rawValue: 1012)
        /// The image cannot be encoded in the requested format.
        public static let encodingFailed = Code(rawValue: 1014)
        /// The system starts no thread for the load or no process to decode in, or that process (a decode worker or one
        /// of gdk-pixbuf) ended without an answer.
        public static let decoderUnavailable = Code(rawValue: 1015)
        /// The decoder crashed on the image, in a separate process (`ImageManager.Configuration.decoding`).
        public static let decoderCrashed = Code(rawValue: 1017)
        /// The decoder exceeded its time limit, in a separate process, and was ended.
        public static let decoderTimedOut = Code(rawValue: 1018)
        /// The format of the image is not in ``AllowedFormats`` for its URL.
        public static let formatNotAllowed = Code(rawValue: 1016)
        /// The load was limited to the caches, and the image is in none of them.
        public static let notInCache = Code(rawValue: 1013)
        /// The caches could not store the image, or a menu its file.
        public static let notStored = Code(rawValue: 1020)
        /// The app refused the request.
        public static let invalidRequest = Code(rawValue: 2000)
        /// The server answered with a status that is not accepted. Default: all but 200 to 299.
        public static let badStatus = Code(rawValue: 2001)
        /// The load was cancelled, or its widget was destroyed.
        public static let cancelled = Code(rawValue: 2002)
        /// The server's answer is malformed, or the response modifier refused it.
        public static let badResponse = Code(rawValue: 2003)
        /// The media type of the response is not accepted.
        public static let badContentType = Code(rawValue: 2004)
        /// The server could not be connected to.
        public static let connectionFailed = Code(rawValue: 2010)
        /// The host name could not be resolved.
        public static let hostNotFound = Code(rawValue: 2011)
        /// A time limit was exceeded.
        public static let timedOut = Code(rawValue: 2012)
        /// The server's certificate is not trusted, or TLS failed for another reason.
        public static let tlsFailed = Code(rawValue: 2013)
        /// The body is larger than the limit.
        public static let bodyTooLarge = Code(rawValue: 2014)
        /// A redirect was not followed: too many, from https to http, or to a scheme that is not allowed.
        public static let badRedirect = Code(rawValue: 2015)
        /// The connection was closed before the end of the body.
        public static let transferIncomplete = Code(rawValue: 2016)
        /// A file or resource cannot be read.
        public static let unreadable = Code(rawValue: 2017)
        /// This machine is offline.
        public static let offline = Code(rawValue: 2018)
    }

    /// The contents of an error, in a box because nearly every function can throw one.
    private struct Content: Sendable {
        let code: Code
        let url: URL?
        let reason: String
        let remedy: String
        var head: ResponseHead?
        let retryAfter: Duration?
        var attemptCount = 1
        var isRemembered = false
        var attemptList: AttemptList?
        var dependsOnRequest = false
        var isOfLaterFrames = false
        var isOfNetworkStatus = false
        var unreservedPixelCount: Int?
    }

    private var box: Box<Content>

    private var content: Content {
        get { box.value }
        set { box = Box(newValue) }
    }

    /// The kind of the error.
    public var code: Code { content.code }
    /// The URL that was requested, if there was one.
    public var url: URL? { content.url }
    /// The cause, in English, for developers.
    public var reason: String { content.reason }
    /// What the developer or the user can do about it, in English.
    public var remedy: String { content.remedy }
    /// The head of the server's response, with its final URL; `nil` if there was none. A remembered error has no header
    /// fields.
    public package(set) var head: ResponseHead? {
        get { content.head }
        set { content.head = newValue }
    }
    /// The delay that the server asks for before a retry (Retry-After: RFC 9110, section 10.2.3).
    public var retryAfter: Duration? { content.retryAfter }
    /// The number of calls of the loader before the error was reported: 1 without a retry.
    public package(set) var attemptCount: Int {
        get { content.attemptCount }
        set { content.attemptCount = newValue }
    }
    /// Whether the error comes from the failure cache: the same load failed before and was not attempted again.
    public package(set) var isRemembered: Bool {
        get { content.isRemembered }
        set { content.isRemembered = newValue }
    }
    /// The attempts before the error, in a separate object.
    var attemptList: AttemptList? {
        get { content.attemptList }
        set { content.attemptList = newValue }
    }
    /// Whether the bytes may be an image for another request, at another time or on another machine, because only a
    /// limit of memory or a setting was exceeded.
    package var dependsOnRequest: Bool {
        get { content.dependsOnRequest }
        set { content.dependsOnRequest = newValue }
    }
    /// Whether only frames after the first are damaged, so that a request for the first one may succeed.
    package var isOfLaterFrames: Bool {
        get { content.isOfLaterFrames }
        set { content.isOfLaterFrames = newValue }
    }
    /// Whether the system reported no network when the load began. Errors from code of the app do not set it.
    package var isOfNetworkStatus: Bool {
        get { content.isOfNetworkStatus }
        set { content.isOfNetworkStatus = newValue }
    }
    /// The number of pixels of an image that has more than were reserved. It can be decoded with more memory.
    package var unreservedPixelCount: Int? {
        get { content.unreservedPixelCount }
        set { content.unreservedPixelCount = newValue }
    }

    /// Creates an error, for your own loaders, coders and transformers.
    public init(
        _ code: Code,
        url: URL?,
        reason: String,
        remedy: String,
        head: ResponseHead? = nil,
        retryAfter: Duration? = nil
    ) {
        let (reason, remedy) = (reason.withoutControls, remedy.withoutControls)
        box = Box(
            Content(code: code, url: url, reason: reason, remedy: remedy, head: head, retryAfter: retryAfter)
        )
    }
}

extension String {
    /// The text without control characters for terminals, which servers and decoders may send.
    fileprivate var withoutControls: String {
        if utf8.allSatisfy({ 32...126 ~= $0 }) { return self }
        let controls: [Unicode.GeneralCategory] = [.control, .format, .lineSeparator, .paragraphSeparator]
        let scalars = unicodeScalars.map { controls.contains($0.properties.generalCategory) ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}

extension ImageError: CustomStringConvertible {
    /// The reason, URL, code and remedy on one line. The URL is printed without secrets (user name, password and the
    /// values of the query), and truncated if it is long.
    public var description: String {
        let address = url.map { " <\($0.textForMessages)>" } ?? ""
        let tries = isRemembered ? ", remembered" : attemptCount > 1 ? ", \(attemptCount) attempts" : ""
        return "\(reason)\(address) (\(code)\(tries)). \(remedy)"
    }
}

extension ImageError: LocalizedError {
    /// The ``reason``, which is also the `localizedDescription`.
    public var errorDescription: String? { "\(reason)." }

    /// The ``remedy``.
    public var recoverySuggestion: String? { remedy }
}

extension ImageError.Code: CustomStringConvertible {
    /// The name and the number, as in "badStatus 2001".
    public var description: String { Self.names[self].map { "\($0) \(rawValue)" } ?? "\(rawValue)" }

    private static let names: [ImageError.Code: String] = [
        .invalidURL: "invalidURL", .badImageData: "badImageData", .unsupportedFormat: "unsupportedFormat",
        .imageTooLarge: "imageTooLarge", .transformFailed: "transformFailed", .encodingFailed: "encodingFailed",
        .decoderUnavailable: "decoderUnavailable", .formatNotAllowed: "formatNotAllowed", .notInCache: "notInCache",
        .decoderCrashed: "decoderCrashed", .decoderTimedOut: "decoderTimedOut",
        .invalidRequest: "invalidRequest", .badStatus: "badStatus", .cancelled: "cancelled",
        .badResponse: "badResponse", .badContentType: "badContentType", .connectionFailed: "connectionFailed",
        .hostNotFound: "hostNotFound", .timedOut: "timedOut", .tlsFailed: "tlsFailed", .bodyTooLarge: "bodyTooLarge",
        .badRedirect: "badRedirect", .transferIncomplete: "transferIncomplete", .unreadable: "unreadable",
        .offline: "offline", .notStored: "notStored",
    ]
}

extension ImageError {
    /// Whether the load was cancelled rather than failed.
    public var isCancelled: Bool { code == .cancelled }

    /// The HTTP status of the ``head``, as for ``Code/badStatus``.
    public var httpStatus: Int? { head?.status }

    /// Whether the same load may succeed later: a missing or broken connection, a timeout, a temporary HTTP status
    /// (408, 429, and 500 to 599 except 501 and 505), or a shortage that keeps decoders from working.
    public var isTransient: Bool {
        switch code {
        case .connectionFailed, .hostNotFound, .timedOut, .transferIncomplete, .offline: true
        case .badStatus: httpStatus.map { Self.transientStatuses.contains($0) } ?? false
        case .decoderUnavailable: dependsOnRequest
        default: false
        }
    }

    /// Whether the cached image is kept that the server was asked about, for example if the signature in its URL has expired.
    var leavesCachedImage: Bool { isTransient || code == .badStatus && [401, 403].contains(httpStatus) }

    /// Whether every load of the URL would fail again, because there is no image, or none that this machine decodes.
    package var isPermanent: Bool {
        switch code {
        case _ where dependsOnRequest: false
        case .badImageData, .unsupportedFormat, .imageTooLarge, .bodyTooLarge, .badContentType: true
        case .decoderCrashed, .decoderTimedOut: true
        case .badStatus: httpStatus == 404 || httpStatus == 410
        default: false
        }
    }

    /// Whether the bytes are not an image for any request. An image that is too large for this manager, or has a format
    /// without a decoder here, may be usable for another program that shares the disk cache.
    var isOfBytes: Bool { code == .badImageData && !dependsOnRequest }

    /// Whether the decoder or the format hint of a request could change the outcome.
    var isOfDecoding: Bool { code == .badImageData || code == .unsupportedFormat }

    /// The same error, marked as one that depends on the request.
    package func dependingOnRequest() -> ImageError {
        var error = self
        error.dependsOnRequest = true
        return error
    }

    /// The number of pixels to reserve before the image is decoded again; `nil` if that is of no use.
    ///
    /// It is at least twice the last number, so that a decoder that reports a few more each time is not asked forever.
    func pixelCount(after last: Int?) -> Int? {
        guard let count = unreservedPixelCount, count > last ?? 0 else { return nil }
        return max(count, (last ?? 0).boundedProduct(2))
    }

    private static let transientStatuses: Set<Int> = Set(500...599).subtracting([501, 505]).union([408, 429])
}

// The errors of the pipeline. Loaders and coders create their errors where they fail.
extension ImageError {
    package static func cancelled(_ url: URL?) -> ImageError {
        ImageError(
            .cancelled,
            url: url,
            reason: "The load was cancelled",
            remedy: "Load the image again if it is still wanted."
        )
    }

    static func invalidURL(_ url: URL?, _ reason: String) -> ImageError {
        ImageError(
            .invalidURL,
            url: url,
            reason: reason,
            remedy: "Use an http, https, file, data or resource URL, or give the manager a loader for this scheme."
        )
    }

    static func noLoader(for url: URL) -> ImageError {
        invalidURL(url, url.scheme.map { "No loader takes the scheme \($0)" } ?? "The URL has no scheme")
    }

    /// - Parameter hasExpired: Whether the caches have an image, stored by the app, that is too old for this request.
    static func noLoader(for url: URL, hasExpired: Bool) -> ImageError {
        guard hasExpired else { return noLoader(for: url) }
        return ImageError(
            .invalidURL,
            url: url,
            reason: "The stored image has expired, and no loader takes the scheme \(url.scheme ?? "")",
            remedy: "Load it with the cache policy cachedElseLoad, store it again, or add a loader for the scheme."
        )
    }

    static func notInCache(_ url: URL) -> ImageError {
        ImageError(
            .notInCache,
            url: url,
            reason: "The image is in none of the caches",
            remedy: "Load it with a cache policy other than cachedOnly."
        )
    }

    static func loadRefused(_ url: URL) -> ImageError {
        ImageError(
            .invalidRequest,
            url: url,
            reason: "The app refused to load this URL",
            remedy: "Let ImageManager.Configuration.shouldLoad return true for it."
        )
    }

    /// - Parameter isByApp: Whether the app has set ``ImageManager/isOffline``.
    static func offline(_ url: URL?, isByApp: Bool = false) -> ImageError {
        var error = ImageError(
            .offline,
            url: url,
            reason: isByApp ? "The app is set to be offline" : "This machine is offline",
            remedy: isByApp
                ? "Set ImageManager.isOffline to false, or ImageRetryPolicy.offlineWait to make loads wait for that."
                : "Connect it to a network, or set ImageRetryPolicy.offlineWait to make loads wait for one."
        )
        error.isOfNetworkStatus = true
        return error
    }

    static func transformFailed(_ step: String, of url: URL, size: PixelSize) -> ImageError {
        ImageError(
            .transformFailed,
            url: url,
            reason: "The transformer \(step) failed",
            remedy: "Make sure that it handles an image of \(size) pixels."
        )
    }

    package static func noThread(for url: URL, _ code: Int32) -> ImageError {
        ImageError(
            .decoderUnavailable,
            url: url,
            reason: "The system starts no thread that could load the image (error \(code))",
            remedy: "Raise the limit of processes (ulimit -u, or pids.max of the control group)."
        )
    }

    package static func encodingFailed(_ reason: String, remedy: String) -> ImageError {
        ImageError(.encodingFailed, url: nil, reason: reason, remedy: remedy)
    }

    package static func noMemory(toEncode what: String) -> ImageError {
        encodingFailed("There is no memory for \(what)", remedy: "Encode a smaller size or fewer images at a time.")
    }
}
