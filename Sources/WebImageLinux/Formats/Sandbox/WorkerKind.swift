import WebImageCore

/// What a decode worker decodes. Each kind has processes of its own, which load what they need before they give up their rights.
enum WorkerKind: Int32, Sendable, CaseIterable {
    /// The formats of the library's own decoders, which load nothing.
    case codecs
    /// The formats of gdk-pixbuf, whose modules are loaded.
    case modules
    /// SVG and PDF, which contain text: the files of fonts may be read.
    case drawings

    /// Whether there are files that the worker reads, of which Landlock says which.
    var readsFonts: Bool { self == .drawings }

    /// The decoders of a worker.
    /// - Parameter added: What a test adds.
    func coders(adding added: [any ImageDecoding]) -> CoderRegistry {
        let decoders: [any ImageDecoding] =
            switch self {
            case .codecs: CoderRegistry.ownDecoders
            case .modules: [PixbufCoder()]
            case .drawings: [PixbufCoder(), PDFCoder()]
            }
        return CoderRegistry(added + decoders, encoders: [], remedy: CoderRegistry.debianRemedy)
    }

    /// The kind of worker that decodes a format with a decoder; `nil` where another process does so already.
    init?(_ coder: any ImageDecoding, _ format: ImageFormat) {
        switch coder {
        case let coder as PixbufCoder:
            if coder.decodesElsewhere(format) { return nil }
            self = format == .svg ? .drawings : .modules
        case is PDFCoder: self = .drawings
        default: self = .codecs
        }
    }
}
