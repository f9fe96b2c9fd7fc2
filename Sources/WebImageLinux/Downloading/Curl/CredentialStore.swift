import FoundationEssentials
import WebImageCore

/// What a credential is for: a realm of a server or of a proxy (RFC 9110, 11.5).
struct CredentialSpace: Hashable, Sendable {
    /// A server or a proxy.
    struct Server: Hashable, Sendable {
        let isProxy: Bool
        /// Whether the certificate is checked. Without that anybody may be at the end of the connection.
        var isVerified = true
        /// The scheme, host and port of a server, or the address of a proxy.
        let name: String
    }

    let server: Server
    /// The name that the server or proxy gives; `nil` when it gives none.
    let realm: String?

    var isProxy: Bool { server.isProxy }
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
    /// The realm of each server whose credential was accepted last. Which realm a URL belongs to is known once the server has
    /// answered.
    private var latest: [CredentialSpace.Server: CredentialSpace] = [:]

    /// The credential that a request to a server is sent with.
    func credential(for server: CredentialSpace.Server) -> (CredentialSpace, ChallengeCredential)? {
        latest[server].flatMap { space in credentials[space].map { (space, $0) } }
    }

    /// Takes note that a request with a credential was not refused. Where nobody checks certificates, the app is asked each time.
    mutating func accept(_ credential: ChallengeCredential, for space: CredentialSpace) {
        guard space.server.isVerified else { return }
        latest[space.server] = space
        guard credentials[space] != credential else { return }
        if credentials.count >= Self.limit {
            credentials = [:]
            latest = [space.server: space]
        }
        credentials[space] = credential
    }

    /// Forgets a credential that was refused, unless another one was accepted meanwhile.
    mutating func refuse(_ credential: ChallengeCredential, for space: CredentialSpace) {
        guard credentials[space] == credential else { return }
        credentials[space] = nil
        if latest[space.server] == space { latest[space.server] = nil }
    }

    mutating func removeAll() { self = CredentialStore() }
}
