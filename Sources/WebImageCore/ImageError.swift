public import FoundationEssentials

/// Why a load ended without an image: a stable code, the URL, the cause, and the remedy.
public struct ImageError: Error, Sendable {
    /// The kind of an error, as a number that is the same in every release. Numbers up to 2004 mean what they mean in
    /// SDWebImageErrorDomain.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number, which never changes its meaning.
        public let rawValue: Int
        /// Makes a code from its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// There is no URL, or no loader takes it.
        public static let invalidURL = Code(rawValue: 1000)
        /// The bytes are no image, or a damaged or incomplete one.
        public static let badImageData = Code(rawValue: 1001)
        /// No decoder on this machine takes the format of the image.
        public static let unsupportedFormat = Code(rawValue: 1010)
        /// The image has more pixels than the limit.
        public static let imageTooLarge = Code(rawValue: 1011)
        /// The transformer failed.
        public static let transformFailed = Code(rawValue: 1012)
        /// The image cannot be encoded in the requested format.
        public static let encodingFailed = Code(rawValue: 1014)
        /// The load was limited to the caches, and the image is in none of them.
        public static let notInCache = Code(rawValue: 1013)
        /// The app refused the request.
        public static let invalidRequest = Code(rawValue: 2000)
        /// The server answered with a status outside of those accepted: 200 to 299.
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
        /// There were too many redirects, or one to a scheme that is not allowed.
        public static let badRedirect = Code(rawValue: 2015)
        /// The connection ended before the body did.
        public static let transferIncomplete = Code(rawValue: 2016)
        /// A file or resource cannot be read.
        public static let unreadable = Code(rawValue: 2017)
        /// This machine is offline.
        public static let offline = Code(rawValue: 2018)
    }

    /// The kind of the error.
    public let code: Code
    /// The URL that was requested, if there was one.
    public let url: URL?
    /// The cause, in English.
    public let reason: String
    /// What the developer or the user can do about it, in English.
    public let remedy: String
    /// The HTTP status, for ``Code/badStatus``.
    public let httpStatus: Int?
    /// The delay that the server asks for before a retry (Retry-After: RFC 9110, section 10.2.3).
    public let retryAfter: Duration?
    /// The number of attempts.
    public package(set) var attempts = 1
    /// Whether the error comes from the failure cache: the same load failed before, and was not attempted again.
    public package(set) var isRemembered = false

    /// Makes an error, for loaders, coders and transformers of an app.
    public init(
        _ code: Code,
        url: URL?,
        reason: String,
        remedy: String,
        httpStatus: Int? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.url = url
        self.reason = reason
        self.remedy = remedy
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }
}

extension ImageError: CustomStringConvertible {
    /// The reason, URL, code and remedy on one line. A long URL is truncated.
    public var description: String {
        let address = url.map { " <\($0.absoluteString.prefix(200))>" } ?? ""
        let tries = isRemembered ? ", remembered" : attempts > 1 ? ", \(attempts) attempts" : ""
        return "\(reason)\(address) (code \(code.rawValue)\(tries)). \(remedy)"
    }
}
