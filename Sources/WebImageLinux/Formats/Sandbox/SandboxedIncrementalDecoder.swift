import FoundationEssentials
import WebImageCore

/// Decodes a file in a worker while it arrives. When the worker ends, the whole file is decoded by another one in the end.
///
/// @unchecked: one thread at a time uses a decoder, as IncrementalImageDecoding demands.
final class SandboxedIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    private let sandbox: DecodeSandbox
    private let options: DecodeOptions
    private let handle: UInt64
    private let place: DecodeSandbox.Place
    /// The file so far, of which frames are decoded. That of a format without frames stays empty.
    private var file: SandboxedFile
    private let hasFrames: Bool

    /// - Returns: `nil` when the decoder shows no parts of such a file.
    init?(_ sandbox: DecodeSandbox, of format: ImageFormat, by kind: WorkerKind, options: DecodeOptions) {
        (self.sandbox, self.options) = (sandbox, options)
        file = SandboxedFile(data: Data(), format: format, isWhole: false, arrival: ArrivingAnimation())
        hasFrames = kind == .codecs && !options.isFirstFrameOnly && [.gif, .png, .webp].contains(format)
        handle = sandbox.makeHandle()
        var command = DecodeCommand(.begin, handle: handle)
        (command.format, command.options) = (format, options)
        guard let (answer, _, place) = try? sandbox.perform(command, nil, by: kind), case .done = answer else {
            return nil
        }
        self.place = place
    }

    deinit { place.worker.forget(handle) }

    func append(_ data: Data) throws(ImageError) {
        if hasFrames { file.data.append(data) }
        _ = try perform(.append, data)
    }

    func partialImage() -> WebImage? {
        guard let (answer, payload) = try? perform(.partialImage, nil), case .image = answer else { return nil }
        return try? sandbox.image(answer, payload, of: file, options: options)
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        let (answer, payload) = try perform(.finish, data)
        (file.data, file.isWhole) = (data, true)
        return try sandbox.image(answer, payload, of: file, options: options)
    }

    private func perform(
        _ kind: DecodeCommand.Kind,
        _ data: Data?
    ) throws(ImageError) -> (DecodeAnswer, DecodeWorker.Payload?) {
        var command = DecodeCommand(kind, handle: handle)
        command.options = options
        let (answer, payload) = try sandbox.perform(command, data, at: place)
        switch answer {
        case .failure(let failure): throw failure.error(for: options.url)
        case .unknown: throw options.badData("The decode worker has ended while the file arrived")
        default: return (answer, payload)
        }
    }
}
