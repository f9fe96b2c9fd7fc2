import FoundationEssentials
import WebImageCore

// Responses may depend on the user (Vary: Authorization), whose field libcurl adds after the fields of the library.
extension RequestModifier.Request {
    /// The request with the field of a credential, unless it has one of its own.
    func adding(_ credential: NetworkOptions.Credential?) -> RequestModifier.Request {
        guard let credential, headers.field("authorization") == nil else { return self }
        var request = self
        request.headers["Authorization"] = credential.basicField
        return request
    }
}

extension CurlTransfer {
    /// The request with what libcurl adds to it, as far as responses may depend on it. The cookies themselves are not known.
    var wholeRequest: RequestModifier.Request {
        var request = exchange.request.adding(exchange.credential ?? .init(userOf: exchange.request.url))
        if key.options.handlesCookies, request.headers.field("cookie") == nil { request.headers["Cookie"] = "some" }
        return request
    }
}

extension NetworkOptions.Credential {
    /// The user name and password of a URL; `nil` when it has none.
    init?(userOf url: URL) {
        guard url.userInfo != nil, let user = url.user(percentEncoded: false) else { return nil }
        self.init(user: user, password: url.password(percentEncoded: false) ?? "")
    }
}
