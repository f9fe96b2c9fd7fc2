/// A certificate that a program shows to servers, with its private key, in files in PEM.
public struct ClientCertificate: Sendable, Hashable {
    /// The path of the certificate.
    public var file: String
    /// The path of the private key. Default: it is in the same file.
    public var keyFile: String?
    /// What the key is encrypted with. Default: it is not.
    public var password: String?

    /// Makes a certificate.
    public init(file: String, keyFile: String? = nil, password: String? = nil) {
        self.file = file
        self.keyFile = keyFile
        self.password = password
    }
}
