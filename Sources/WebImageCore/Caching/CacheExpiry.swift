/// By which of its dates an entry of the disk cache is too old, and which entries are the oldest.
public enum CacheExpiry: Sendable, Hashable {
    /// When it was used last.
    case access
    /// When it was stored.
    case modification
    /// When anything about it changed: stored, used or renewed by the server.
    case change
}
