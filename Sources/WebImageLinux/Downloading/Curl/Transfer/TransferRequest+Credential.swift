import FoundationEssentials
import WebImageCore

extension TransferRequest {
    /// The credential for the server, and the schemes that may use it: the answer of the app to a challenge, or the credential of
    /// the request or its URL. libcurl reads a credential from the URL itself, unless the target of a redirect does not repeat it.
    var credential: (credential: NetworkOptions.Credential, schemes: Int)? {
        if let answer = answers[.server(origin)] { return (answer.credential, answer.scheme.rawValue) }
        guard message.url.origin == key.url.origin else { return nil }
        if let credential = key.options.credential {
            return (credential, Challenge.Scheme.basic.rawValue | Challenge.Scheme.digest.rawValue)
        }
        guard message.url.userInfo == nil else { return nil }
        return NetworkOptions.Credential(userOf: key.url).map { ($0, Challenge.Scheme.basic.rawValue) }
    }

    /// The request with the Authorization field that libcurl adds for a credential, because responses may depend on the user (Vary).
    var messageWithCredential: RequestModifier.Request {
        var request = message
        if request.headers.field("authorization") == nil,
            let credential = credential?.credential ?? NetworkOptions.Credential(userOf: message.url)
        {
            request.headers["Authorization"] = credential.basicField
        }
        return request
    }
}

extension NetworkOptions.Credential {
    /// The user name and password of a URL; `nil` if it has none.
    init?(userOf url: URL) {
        guard url.userInfo != nil, let user = url.user(percentEncoded: false) else { return nil }
        self.init(user: user, password: url.password(percentEncoded: false) ?? "")
    }
}
