/// What a request itself says by the header fields on which a response depends (RFC 9111, section 4.1). Those of the downloader are the
/// same for all requests of a manager.
struct VaryingFields: Hashable, Sendable {
    /// The names of the fields, in lower case.
    let names: [String]
    /// The values of these fields, empty for those that the request does not have.
    let values: [String]
    /// It may set any field.
    let modifier: RequestModifier?
}
