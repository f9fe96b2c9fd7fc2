import WebImageCodecs
package import WebImageCore
import WebImageFormats
package import WebImageSandbox

extension CoderRegistry {
    /// A registry of all coders of the library, which decode in this process.
    package static var builtIn: CoderRegistry { builtIn(adding: []) }

    /// A registry of all coders of the library, which decode in workers if possible.
    package static var inWorkers: CoderRegistry {
        builtIn(adding: [], sandbox: ImageManager.Configuration.Decoding.automatic.sandbox)
    }

    /// A registry of the app's coders, followed by all coders of the library.
    /// - Parameters:
    ///   - decoders: The app's decoders, in the order in which they are tried.
    ///   - encoders: The app's encoders, in the order in which they are tried.
    ///   - other: The decoder of all other formats, which is tried last.
    ///   - sandbox: The workers for the library's decoders, and whether this process may decode if a worker cannot; `nil` to decode
    ///     in this process.
    ///   - neverHere: Formats that this process decodes only from local files.
    package static func builtIn(
        adding decoders: [any ImageDecoding],
        encoders: [any ImageEncoding] = [],
        other: any ImageDecoding = PixbufCoder(),
        sandbox: (DecodeSandbox, isOptional: Bool)? = nil,
        neverHere: Set<ImageFormat> = []
    ) -> CoderRegistry {
        func inWorkers(_ coder: any ImageDecoding, _ kind: WorkerKind) -> any ImageDecoding {
            guard let (sandbox, isOptional) = sandbox else { return coder }
            var isElsewhere: (@Sendable (ImageFormat) -> Bool)?
            // Some loaders of gdk-pixbuf use another process or files.
            if let coder = coder as? PixbufCoder { isElsewhere = { coder.decodesElsewhere($0) || needsFiles($0) } }
            return sandbox.sandboxed(
                coder,
                isOptional: isOptional,
                neverHere: neverHere,
                in: kind,
                unless: isElsewhere
            )
        }
        let loaded: [any ImageDecoding] = [HEIFCoder(), JPEGXLCoder(), SVGCoder()]
        return CoderRegistry(
            decoders + ownDecoders.map { inWorkers($0, .codecs) } + loaded.map { inWorkers($0, .modules) }
                + [inWorkers(other, other is PixbufCoder ? .modules : .codecs)],
            encoders: encoders + ownEncoders,
            remedy: debianRemedy
        )
    }

    /// Whether the library's decoder of a format runs in a worker, or in another process of gdk-pixbuf.
    static func hasWorker(_ format: ImageFormat) -> Bool {
        format != .pdf && !needsFiles(format)
    }

    /// Whether the loader of a format writes temporary files, or reads the system's table of file types.
    private static func needsFiles(_ format: ImageFormat) -> Bool {
        ["xpm", "image/x-xbitmap", "image/x-quicktime", "icns"].contains(format.rawValue)
    }

    /// A registry of the decoders of a worker.
    /// - Parameter added: Decoders that a test adds.
    static func worker(_ kind: WorkerKind, adding added: [any ImageDecoding]) -> CoderRegistry {
        let decoders: [any ImageDecoding] =
            switch kind {
            case .codecs: ownDecoders
            case .modules: [HEIFCoder.loaded(), JPEGXLCoder.loaded(), PixbufCoder()]
            case .drawings: [SVGCoder.loaded(), PixbufCoder()]
            }
        return CoderRegistry(added + decoders, encoders: [], remedy: debianRemedy)
    }
}
