package import WebImageCore
import WebImageFormats
package import WebImageSandbox

extension CoderRegistry {
    /// A registry of every coder that the library brings, as managers have it.
    package static var builtIn: CoderRegistry { builtIn(adding: []) }

    /// The same, decoding in workers where there can be any.
    package static var inWorkers: CoderRegistry {
        builtIn(adding: [], sandbox: ImageManager.Configuration.Decoding.automatic.sandbox)
    }

    /// A registry of every coder that the library brings, behind those of an app.
    /// - Parameters:
    ///   - decoders: The app's decoders, in the order in which they are asked.
    ///   - encoders: The app's encoders, in the order in which they are asked.
    ///   - other: Decodes the formats without a decoder of the library, and is asked last of all.
    ///   - sandbox: Where the library's decoders run, and whether they may run in this process as well; `nil` for this process.
    ///   - neverHere: Formats that are not decoded in this process unless they are those of local files.
    package static func builtIn(
        adding decoders: [any ImageDecoding],
        encoders: [any ImageEncoding] = [],
        other: any ImageDecoding = PixbufCoder(),
        sandbox: (DecodeSandbox, isOptional: Bool)? = nil,
        neverHere: Set<ImageFormat> = []
    ) -> CoderRegistry {
        return CoderRegistry(
            decoders + (ownDecoders + [other]).map { sandboxed($0, sandbox, neverHere: neverHere) },
            encoders: encoders + ownEncoders,
            remedy: debianRemedy
        )
    }

    private static func sandboxed(
        _ coder: any ImageDecoding,
        _ sandbox: (DecodeSandbox, isOptional: Bool)?,
        neverHere: Set<ImageFormat>
    ) -> any ImageDecoding {
        guard let (sandbox, isOptional) = sandbox else { return coder }
        return sandbox.sandboxed(coder, isOptional: isOptional, neverHere: neverHere) { format in
            guard let coder = coder as? PixbufCoder else { return .codecs }
            // The loaders of XPM, XBM, QTIF and ICNS write files for a time, or read the types of files that the system knows.
            let needsFiles = ["xpm", "image/x-xbitmap", "image/x-quicktime", "icns"].contains(format.rawValue)
            if coder.decodesElsewhere(format) || needsFiles { return nil }
            return format == .svg ? .drawings : .modules
        }
    }

    /// A registry of the decoders of a worker.
    /// - Parameter added: What a test adds.
    static func worker(_ kind: WorkerKind, adding added: [any ImageDecoding]) -> CoderRegistry {
        let decoders = kind == .codecs ? ownDecoders : [PixbufCoder()]
        return CoderRegistry(added + decoders, encoders: [], remedy: debianRemedy)
    }
}
