public import WebImageCore

extension ImageManager.Configuration {
    /// Where the library's decoders run. An app's own decoders always run in the process of the app.
    public enum Decoding: Sendable, Hashable {
        /// They run in workers where that is possible, else in the process of the app. Images of `resource:` URLs, which come with the app,
        /// are decoded in its process.
        case automatic
        /// They run in workers only: where they cannot be started, images fail with
        /// ``/WebImageCore/ImageError/Code/decoderUnavailable``.
        case sandboxed
        /// They run in the process of the app.
        case inProcess

        /// The sandbox of the decoders; `nil` for the process of the app.
        var sandbox: (DecodeSandbox, isOptional: Bool)? {
            guard self != .inProcess else { return nil }
            guard let sandbox = DecodeSandbox.shared else {
                ImageManager.sandboxStatus.log()
                // The error of each image says why, too.
                return self == .sandboxed ? (.unavailable, isOptional: false) : nil
            }
            startOptionalWork { sandbox.prepare() }
            return (sandbox, isOptional: self == .automatic)
        }
    }
}

extension ImageManager {
    /// What is known of the decode workers of this process, which all managers share. Before the first one has started, nothing is
    /// known; managers that decode in the app's process start none. May be read from any thread.
    public static var sandboxStatus: SandboxStatus {
        DecodeSandbox.shared?.status ?? .unavailable(DecodeSandbox.obstacle ?? "There is no sandbox")
    }
}
