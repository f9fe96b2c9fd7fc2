import FoundationEssentials

/// The file that was chosen for a request among the variants of its image.
struct VariantChoice: Hashable, Sendable {
    /// Says where the files of an image are in the caches.
    enum Keys: Hashable, Sendable {
        /// The URL of a file is its key.
        case urls
        /// The key is a name of the app or of a server that scales, followed by what tells the files apart.
        case named(String)
        /// The key is what a filter makes of the URL, followed by the same: it may be equal for all of them.
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
    /// The URL and the cache key that the request has because of the choice.
    let url: URL
    let key: String?
    /// Whether the caches have been searched for larger files.
    var isFinal = false
    /// The rank of the file that fits, if this one from the caches is tried in its place and has it as its first fallback.
    var replacedRank: Int?
}
