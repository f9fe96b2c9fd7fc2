import WebImageCore

/// What a decode worker decodes. Each kind has processes of its own, which load what they need before they give up their rights.
enum WorkerKind: Int32, Sendable, CaseIterable {
    /// The formats of the library's own decoders, which load nothing.
    case codecs
    /// The formats of gdk-pixbuf, whose modules are loaded.
    case modules
    /// SVG, which contains text: the files of fonts may be read.
    case drawings

    /// Whether there are files that the worker reads, of which Landlock says which.
    var readsFonts: Bool { self == .drawings }

    /// Why a worker with these protections is none; `nil` when it is one.
    func missing(in fence: DecodeAnswer.Fence) -> String? {
        guard readsFonts else {
            return fence.isDisjoint(with: [.systemCalls, .files])
                ? "This kernel has neither seccomp nor Landlock, so that a worker would have the rights of the app"
                : nil
        }
        if !fence.contains(.files) {
            return "This kernel has no Landlock, without which a worker that reads fonts reads other files as well"
        }
        return fence.contains(.systemCalls)
            ? nil : "This kernel has no seccomp, without which a worker that reads fonts has a network as well"
    }

    /// The decoders of a worker.
    /// - Parameter added: What a test adds.
    func coders(adding added: [any ImageDecoding]) -> CoderRegistry {
        let decoders: [any ImageDecoding] =
            switch self {
            case .codecs: CoderRegistry.ownDecoders
            case .modules, .drawings: [PixbufCoder()]
            }
        return CoderRegistry(added + decoders, encoders: [], remedy: CoderRegistry.debianRemedy)
    }

    /// The kind of worker that decodes a format with a decoder; `nil` where another process does so already, or no worker can.
    init?(_ coder: any ImageDecoding, _ format: ImageFormat) {
        switch coder {
        case let coder as PixbufCoder:
            // The loaders of XBM and QTIF write files for a time, or read the types of files that the system knows.
            let needsFiles = ["image/x-xbitmap", "image/x-quicktime"].contains(format.rawValue)
            if coder.decodesElsewhere(format) || needsFiles { return nil }
            self = format == .svg ? .drawings : .modules
        default: self = .codecs
        }
    }
}
