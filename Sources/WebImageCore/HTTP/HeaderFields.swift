// The name of a header field means the same in any case (RFC 9110, section 5.1), which a dictionary does not know.
extension [String: String] {
    /// The value of a header field.
    /// - Parameter name: The name in lower case.
    package func field(_ name: String) -> String? {
        // Many fields are written this way.
        self[name] ?? fieldsByLowercasedName[name]
    }

    /// The fields by their names in lower case. Of two that differ in case alone, it is always the same one.
    package var fieldsByLowercasedName: [String: String] {
        Dictionary(sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0.value) }) { $1 }
    }

    /// Returns these fields and others, which replace those of the same name.
    package func replacingFields(with others: [String: String]) -> [String: String] {
        let names = Set(others.keys.map { $0.lowercased() })
        return filter { !names.contains($0.key.lowercased()) }.merging(others) { $1 }
    }

    /// Returns these fields with each name once. Where there are two that differ in case alone, the one counts that was changed.
    /// - Parameter old: The fields before the change.
    package func withUniqueNames(since old: [String: String]) -> [String: String] {
        guard Set(keys.map { $0.lowercased() }).count < count else { return self }
        let changed = filter { old[$0.key] != $0.value }
        return filter { old[$0.key] == $0.value }.replacingFields(with: changed)
    }
}
