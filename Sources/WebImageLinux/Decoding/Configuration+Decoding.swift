public import WebImageCore
public import WebImageSandbox

extension ImageManager.Configuration {
    /// Where the library's decoders run. Your own decoders always run in the process of the app.
    public enum Decoding: Sendable, Hashable {
        /// Decode in workers if possible, otherwise in the process of the app. The process of the app decodes images of `resource:`
        /// URLs, which are part of the app.
        case automatic
        /// Decode only in workers. If workers cannot be started, images fail with
        /// ``/WebImageCore/ImageError/Code/decoderUnavailable``.
        case sandboxed
        /// Decode in the process of the app.
        case inProcess

        /// The sandbox of the decoders; `nil` for the process of the app.
        var sandbox: (DecodeSandbox, isOptional: Bool)? {
            guard self != .inProcess else { return nil }
            guard let sandbox = DecodeSandbox.shared else {
                ImageManager.sandboxStatus.log()
                // With `sandboxed`, the error of each image also states the obstacle.
                return self == .sandboxed ? (.unavailable, isOptional: false) : nil
            }
            startOptionalWork { sandbox.prepare() }
            return (sandbox, isOptional: self == .automatic)
        }
    }
}

extension ImageManager {
    /// The status of the decode workers of this process, which all managers share. It is unknown until the first worker has
    /// started; managers that decode in the app's process start none. You may read it on any thread.
    public static var sandboxStatus: SandboxStatus {
        DecodeSandbox.shared?.status ?? .unavailable(DecodeSandbox.obstacle ?? "There is no sandbox")
    }
}

extension DecodeSandbox {
    private static let ofApp: (sandbox: DecodeSandbox, pressure: ObservationToken)? = {
        guard obstacle == nil else { return nil }
        // At least two workers, so that slow images do not delay quick ones.
        let sandbox = DecodeSandbox(limit: min(max(SystemResources.processorCount, 2), 8))
        // Ending a process takes a moment, and the observer may run on the main thread.
        let pressure = MemoryMonitor.shared.observe { _ in startOptionalWork { sandbox.endIdleWorkers() } }
        return (sandbox, pressure)
    }()

    /// The sandbox of this app; `nil` if workers are impossible.
    package static var shared: DecodeSandbox? { ofApp?.sandbox }
}
