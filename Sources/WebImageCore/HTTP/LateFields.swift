/// The header fields of a request that become known only when it is sent.
package enum LateFields: Sendable, Equatable {
    case none
    /// The fields with these names, in lower case.
    case named(Set<String>)
    /// All fields except those of content negotiation.
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
