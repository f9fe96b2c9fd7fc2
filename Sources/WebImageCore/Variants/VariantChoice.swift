import FoundationEssentials

/// The file chosen for a request among the variants of its image.
struct VariantChoice: Hashable, Sendable {
    /// The scheme of the cache keys of an image's files.
    enum Keys: Hashable, Sendable {
        /// The URL of a file is its key.
        case urls
        /// The key is a name, from the app or the scaling server, followed by the label of the file.
        case named(String)
        /// The key is the result of the app's filter, followed by the label of the file, since the filter may return equal keys.
        case filtered(@Sendable (URL) -> String?)

        static func == (lhs: Keys, rhs: Keys) -> Bool {
            switch (lhs, rhs) {
            case (.urls, .urls), (.filtered, .filtered): true
            case (.named(let lhs), .named(let rhs)): lhs == rhs
            default: false
            }
        }

        func hash(into hasher: inout Hasher) {
            if case .named(let name) = self { hasher.combine(name) }
        }
    }

    let variants: ImageVariants
    let keys: Keys
    let rank: Int
    /// The URL and the cache key of the request for this choice.
    let url: URL
    let key: String?
    /// Whether the caches have been searched for larger files.
    var isFinal = false
    /// The rank of the best file, if a file from the caches is tried instead. The best file is then the first fallback.
    var replacedRank: Int?
}
