/// Keys of the cache of results: a URL, and what was made of it.
package enum ResultKey {
    private static let separator: Character = "\u{0}"

    package static func string(url: String, variant: String) -> String { "\(url)\(separator)\(variant)" }

    /// The parts of a key; those of originals have no variant.
    package static func parts(_ key: String) -> (url: Substring, variant: Substring?) {
        guard let index = key.firstIndex(of: separator) else { return (key[...], nil) }
        return (key[..<index], key[key.index(after: index)...])
    }
}
