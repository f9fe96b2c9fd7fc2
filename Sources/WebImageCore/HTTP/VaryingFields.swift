/// The values that a request sets for the header fields that a response depends on (RFC 9111, section 4.1). The fields
/// of the downloader are the same for all requests of a manager.
struct VaryingFields: Hashable, Sendable {
    /// The names of the fields, in lower case.
    let names: [String]
    /// The values of these fields; empty if the request does not set them.
    let values: [String]
    /// The request modifier, which may set any field.
    let modifier: RequestModifier?
}
