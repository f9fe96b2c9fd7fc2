/// The header fields of a request that are known only when it is sent.
package enum LateFields: Sendable, Equatable {
    case none
    /// Those with certain names, in lower case.
    case named(Set<String>)
    /// All but those by which content is negotiated.
    case any

    /// - Parameter name: The name of a field, in lower case.
    func contain(_ name: String) -> Bool {
        switch self {
        case .none: false
        case .named(let names): names.contains(name)
        case .any: !VaryingField.negotiating.contains(name)
        }
    }
}
