public import FoundationEssentials

/// Why a load ended without an image: a stable code, the URL, the cause, and what to do about it.
public struct ImageError: Error, Sendable {
    /// What went wrong, as a number that stays the same from release to release. Numbers up to 2004 mean what they mean
    /// in SDWebImageErrorDomain.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: Int
        /// Makes a code from its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// There is no URL, or not one that can be loaded.
        public static let invalidURL = Code(rawValue: 1000)
        /// The bytes are not a whole, sound image.
        public static let badImageData = Code(rawValue: 1001)
        /// The bytes are an image, but nothing on this machine decodes its format.
        public static let unsupportedFormat = Code(rawValue: 1010)
        /// The image has more pixels than the limit.
        public static let imageTooLarge = Code(rawValue: 1011)
        /// The transformer failed.
        public static let transformFailed = Code(rawValue: 1012)
        /// The image cannot be written in the format that was asked for.
        public static let encodingFailed = Code(rawValue: 1014)
        /// Only the caches were to be asked, and they do not have it.
        public static let notInCache = Code(rawValue: 1013)
        /// The request modifier refused to make a request.
        public static let invalidRequest = Code(rawValue: 2000)
        /// The server answered with a status that is not among those that are accepted: 200 to 299.
        public static let badStatus = Code(rawValue: 2001)
        /// The load was cancelled, or the widget that it was for is gone.
        public static let cancelled = Code(rawValue: 2002)
        /// The server's answer cannot be understood, or the response modifier refused it.
        public static let badResponse = Code(rawValue: 2003)
        /// The server sent another media type than those that are accepted.
        public static let badContentType = Code(rawValue: 2004)
        /// No connection to the server.
        public static let connectionFailed = Code(rawValue: 2010)
        /// The name of the server could not be resolved.
        public static let hostNotFound = Code(rawValue: 2011)
        /// The server took too long.
        public static let timedOut = Code(rawValue: 2012)
        /// The server's certificate is not trusted, or TLS failed otherwise.
        public static let tlsFailed = Code(rawValue: 2013)
        /// The body is larger than the limit.
        public static let bodyTooLarge = Code(rawValue: 2014)
        /// Too many redirects, or one to a scheme that is not allowed.
        public static let badRedirect = Code(rawValue: 2015)
        /// The connection ended before the body did.
        public static let transferIncomplete = Code(rawValue: 2016)
        /// A file or resource cannot be read.
        public static let unreadable = Code(rawValue: 2017)
        /// This machine is offline.
        public static let offline = Code(rawValue: 2018)
    }

    /// What went wrong.
    public let code: Code
    /// The URL that was asked for, where there was one.
    public let url: URL?
    /// The cause, in a few words for a log; not translated.
    public let reason: String
    /// What the developer or the user can do about it; not translated.
    public let remedy: String
    /// The HTTP status, for Code/badStatus.
    public let httpStatus: Int?
    /// How long the server wants to be left alone (Retry-After, RFC 9110, 10.2.3).
    public let retryAfter: Duration?
    /// How often it was tried.
    public package(set) var attempts = 1
    /// Whether nothing was tried this time: the same load failed for good not long ago, and
    /// ImageOptions/retryFailed was not among the options.
    public package(set) var isRemembered = false

    /// Makes an error; custom loaders, coders and transformers make theirs with it.
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
    /// Code, reason, URL and remedy on one line. A long URL (a data: one) is cut.
    public var description: String {
        let address = url.map { " <\($0.absoluteString.prefix(200))>" } ?? ""
        let tries = isRemembered ? ", remembered" : attempts > 1 ? ", \(attempts) attempts" : ""
        return "\(reason)\(address) (code \(code.rawValue)\(tries)). \(remedy)"
    }
}
