/// What a request itself says by the header fields on which a response depends (RFC 9111, section 4.1). Those of the downloader are
/// the same for all requests of a manager.
package struct VaryingRequest: Hashable, Sendable {
    private let names: [String]
    private let values: [String]
    private let credential: NetworkOptions.Credential?
    private let userInfo: String?
    private let handlesCookies: Bool
    /// It may set any field.
    private let modifier: RequestModifier?

    /// - Returns: `nil` when the image is the same for all requests.
    init?(_ response: ResponseMetadata, _ request: ImageRequest) {
        guard response.vary != nil || response.redirects?.vary != nil else { return nil }
        let fields = Set((response.vary ?? [:]).keys).union((response.redirects?.vary ?? [:]).keys)
        // A coding changes nothing in the image.
        let names = fields.subtracting(["accept-encoding", "*"]).sorted()
        guard !names.isEmpty else { return nil }
        self.init(names: names, request)
    }

    private init(names: [String], _ request: ImageRequest) {
        self.names = names
        let options = request.boxedNetworkOptions?.value
        let fields = (options?.headers ?? [:]).map { ($0.key.lowercased(), $0.value) }
        let headers = Dictionary(fields) { $1 }
        values = names.map { headers[$0] ?? "" }
        let dependsOnUser = names.contains("authorization")
        credential = dependsOnUser ? options?.credential : nil
        userInfo = dependsOnUser ? request.url.userInfo : nil
        handlesCookies = names.contains("cookie") && options?.handlesCookies == true
        modifier = options?.requestModifier
    }

    /// Whether the response answers another request as well.
    func matches(_ request: ImageRequest) -> Bool { VaryingRequest(names: names, request) == self }
}

extension WebImage {
    /// Whether the response of which the image was made answers a request.
    func answers(_ request: ImageRequest) -> Bool {
        storage.varying?.matches(request) ?? true
    }
}

extension MemoryCaching {
    /// The image for a query, unless its response depends on header fields that a request does not have.
    func image(for query: MemoryQuery, answering request: ImageRequest) -> WebImage? {
        image(for: query).flatMap { $0.answers(request) ? $0 : nil }
    }
}
