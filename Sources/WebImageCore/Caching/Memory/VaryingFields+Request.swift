extension VaryingFields {
    /// - Returns: `nil` when the image is the same for all requests.
    init?(_ response: ResponseMetadata, _ request: ImageRequest) {
        guard response.vary != nil || response.redirects?.vary != nil else { return nil }
        let fields = Set((response.vary ?? [:]).keys).union((response.redirects?.vary ?? [:]).keys)
        // A content coding changes nothing in the image.
        let names = fields.subtracting(["accept-encoding", "*"]).sorted()
        guard !names.isEmpty else { return nil }
        self.init(names: names, request)
    }

    private init(names: [String], _ request: ImageRequest) {
        let options = request.boxedNetworkOptions?.value
        let headers = options?.headers.fieldsByLowercasedName ?? [:]
        let values = names.map { name in
            switch name {
            // The credential and the cookies become header fields when the request is sent.
            case "authorization":
                let credential = options?.credential.map { "\($0.user):\($0.password)" } ?? request.url.userInfo
                return headers[name] ?? credential ?? ""
            case "cookie" where options?.handlesCookies == true: return "the cookies of the manager"
            default: return headers[name] ?? ""
            }
        }
        self.init(names: names, values: values, modifier: options?.requestModifier)
    }

    /// Whether the response also answers another request.
    func matches(_ request: ImageRequest) -> Bool { VaryingFields(names: names, request) == self }
}
