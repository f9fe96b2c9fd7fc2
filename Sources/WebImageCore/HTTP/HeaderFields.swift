// Names of header fields are case-insensitive (RFC 9110, section 5.1), unlike the keys of a dictionary.
extension [String: String] {
    /// The value of a header field.
    /// - Parameter name: The name in lower case.
    package func field(_ name: String) -> String? {
        // Many fields are already in lower case.
        self[name] ?? fieldsByLowercasedName[name]
    }

    /// The fields by lower-case name. If two names differ only in case, always the same one is used.
    package var fieldsByLowercasedName: [String: String] {
        Dictionary(sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0.value) }) { $1 }
    }

    /// Returns these fields and others, which replace fields of the same name.
    package func replacingFields(with others: [String: String]) -> [String: String] {
        let names = Set(others.keys.map { $0.lowercased() })
        return filter { !names.contains($0.key.lowercased()) }.merging(others) { $1 }
    }

    /// Returns these fields with unique names. If two names differ only in case, the field that was changed is kept.
    /// - Parameter old: The fields before the change.
    package func withUniqueNames(since old: [String: String]) -> [String: String] {
        guard Set(keys.map { $0.lowercased() }).count < count else { return self }
        let changed = filter { old[$0.key] != $0.value }
        return filter { old[$0.key] == $0.value }.replacingFields(with: changed)
    }
}
