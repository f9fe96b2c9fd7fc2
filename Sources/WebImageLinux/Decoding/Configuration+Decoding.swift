import Dispatch
public import WebImageCore
public import WebImageSandbox

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

extension DecodeSandbox {
    private static let ofApp: (sandbox: DecodeSandbox, pressure: ObservationToken)? = {
        guard obstacle == nil else { return nil }
        // One decodes what takes long, and another one what is quick.
        let sandbox = DecodeSandbox(limit: min(max(SystemResources.processorCount, 2), 8))
        // The end of a process takes a moment, and the main thread reports that no window is on screen.
        let pressure = MemoryMonitor.shared.observe { _ in
            DispatchQueue.global(qos: .utility).async { sandbox.endIdleWorkers() }
        }
        return (sandbox, pressure)
    }()

    /// The sandbox of this app; `nil` where there can be none.
    package static var shared: DecodeSandbox? { ofApp?.sandbox }
}
