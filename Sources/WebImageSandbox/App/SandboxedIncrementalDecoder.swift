import FoundationEssentials
import WebImageCore

/// Decodes an arriving file in a worker. If the worker ends, another one decodes the whole file at the end.
final class SandboxedIncrementalDecoder: IncrementalImageDecoding {
    private let sandbox: DecodeSandbox
    private let options: DecodeOptions
    private let handle: UInt64
    private let pool: WorkerPool
    private let worker: DecodeWorker
    /// The file so far, for decoding frames. It stays empty for a format without frames.
    private var file: SandboxedFile
    private let hasFrames: Bool
    /// The beginning of the file, while its size is not known yet.
    private var head: Data?
    /// The limit of an answer, once the size is known.
    private var limit: DecodeAnswer.Limit?

    /// - Returns: `nil` if the decoder shows no parts of such a file.
    init?(_ sandbox: DecodeSandbox, of format: ImageFormat, by kind: WorkerKind, options: DecodeOptions) {
        (self.sandbox, self.options) = (sandbox, options)
        file = SandboxedFile(data: Data(), format: format, kind: kind, isWhole: false, arrival: ArrivingAnimation())
        hasFrames = kind == .codecs && !options.isFirstFrameOnly && [.gif, .png, .webp].contains(format)
        head = format.descriptor?.readHeader == nil ? nil : Data()
        pool = sandbox.pool(kind)
        handle = pool.makeHandle()
        var command = DecodeCommand(.begin, handle: handle)
        (command.format, command.options) = (format, options)
        guard let (answer, _, worker) = try? pool.perform(command, nil) else { return nil }
        guard case .done = answer else {
            worker.forget(handle)
            return nil
        }
        self.worker = worker
    }

    deinit { worker.forget(handle) }

    func append(_ data: Data) throws(ImageError) {
        if hasFrames { file.data.append(data) }
        if let head, head.count < Self.longestHead { readSize(in: head + data) }
        _ = try perform(.append, data)
    }

    /// Limits what a worker shows to the pixels that the file has.
    private func readSize(in head: Data) {
        self.head = head
        guard let header = ImageHeader(reading: head) else { return }
        var limit = DecodeAnswer.Limit(options, head)
        limit.pixelCount = min(limit.pixelCount, header.storedSize.pixelCount)
        (self.limit, self.head) = (limit, nil)
    }

    func partialImage() -> WebImage? {
        guard head == nil, let (answer, payload) = try? perform(.partialImage, nil), case .image = answer else {
            return nil
        }
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
        (command.options, command.limit) = (options, limit)
        let (answer, payload) = try pool.perform(command, data, in: worker)
        switch answer {
        case .failure(let failure): throw failure.of(options.url)
        case .unknown: throw options.badData("The decode worker has ended while the file arrived")
        default: return (answer, payload)
        }
    }

    /// The number of bytes that are searched for the size of an image. A file with its size behind them has no partial images.
    private static let longestHead = 256 << 10
}
