public import FoundationEssentials

/// The bytes of a picture as a cache keeps them, and what was said about them.
public struct CacheEntry: Sendable, Equatable {
    /// Under what it is found: the URL, for a picture as it came.
    public var key: String
    /// The bytes.
    public var data: Data
    /// What the server said about them.
    public var response: ResponseMetadata
    /// When the bytes were stored; a 304 does not change it. Tells one version of a picture from another.
    public var storedAt: Date
    /// A blurred version of the picture, for managers that keep those.
    public var thumbHash: ThumbHash?
    /// For a decoded picture: what its bytes are.
    package var result: ResultInfo?

    /// Makes an entry.
    public init(key: String, data: Data, response: ResponseMetadata = ResponseMetadata(), storedAt: Date) {
        self.key = key
        self.data = data
        self.response = response
        self.storedAt = storedAt
    }
}
