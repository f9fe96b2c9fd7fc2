import FoundationEssentials
import WebImageCore

/// The server or the proxy that a credential is for.
struct CredentialSpace: Hashable, Sendable {
    let isProxy: Bool
    /// Whether the certificate is checked. Without that anybody may be at the end of the connection.
    var isVerified = true
    /// The scheme, host and port of a server, or the address of a proxy.
    let name: String
}

/// A credential and the scheme that the server or proxy has asked for it by.
struct ChallengeCredential: Sendable, Hashable {
    let credential: NetworkOptions.Credential
    let scheme: ImageDownloader.AuthenticationChallenge.Scheme
}

/// The credentials of the challenge handler that servers and proxies have accepted, which serve later requests to them.
struct CredentialStore {
    /// Few apps have more than one server that asks.
    private static let limit = 100

    private(set) var credentials: [CredentialSpace: ChallengeCredential] = [:]

    /// Takes note that a request with a credential was not refused. Where nobody checks certificates, the app is asked each time.
    mutating func accept(_ credential: ChallengeCredential, for space: CredentialSpace) {
        guard space.isVerified, credentials[space] != credential else { return }
        if credentials.count >= Self.limit { credentials = [:] }
        credentials[space] = credential
    }

    /// Forgets a credential that was refused, unless another one was accepted meanwhile.
    mutating func refuse(_ credential: ChallengeCredential, for space: CredentialSpace) {
        if credentials[space] == credential { credentials[space] = nil }
    }

    mutating func removeAll() { credentials = [:] }
}
