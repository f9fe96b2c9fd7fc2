import FoundationEssentials
import WebImageCore

/// Decodes a file in a worker while it arrives. When the worker ends, the whole file is decoded by another one in the end.
///
/// @unchecked: one thread at a time uses a decoder, as IncrementalImageDecoding demands.
final class SandboxedIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    private let sandbox: DecodeSandbox
    private let format: ImageFormat
    private let options: DecodeOptions
    private let handle: UInt64
    private let place: DecodeSandbox.Place

    /// - Returns: `nil` when the decoder shows no parts of such a file.
    init?(_ sandbox: DecodeSandbox, of format: ImageFormat, options: DecodeOptions) {
        (self.sandbox, self.format, self.options) = (sandbox, format, options)
        handle = sandbox.makeHandle()
        var command = DecodeCommand(.begin, handle: handle)
        (command.format, command.options) = (format, options)
        guard let (answer, _, place) = try? sandbox.perform(command, nil), case .done = answer else { return nil }
        self.place = place
    }

    deinit { place.worker.forget(handle) }

    func append(_ data: Data) throws(ImageError) {
        _ = try perform(.append, data)
    }

    func partialImage() -> WebImage? {
        guard let (answer, payload) = try? perform(.partialImage, nil), case .image = answer else { return nil }
        return try? sandbox.image(answer, payload, of: Data(), format: format, options: options)
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        let (answer, payload) = try perform(.finish, data)
        return try sandbox.image(answer, payload, of: data, format: format, options: options)
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
