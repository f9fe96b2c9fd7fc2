/// A user name and a password for HTTP authentication, Basic or Digest, whichever the server asks for.
public struct Credential: Hashable, Sendable, CustomStringConvertible {
    /// The user name.
    public var user: String
    /// The password.
    public var password: String

    /// Makes a credential.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// The user name only: it may end up in a log.
    public var description: String { "Credential of \(user)" }
}
