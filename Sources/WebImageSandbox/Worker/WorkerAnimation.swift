import FoundationEssentials
import WebImageCore

/// An animation in a decode worker, whose file may still be arriving. Each frame is decoded once, even if the file grows.
final class WorkerAnimation {
    private let coders: CoderRegistry
    private let format: ImageFormat
    private let options: DecodeOptions
    private var data = Data()
    /// Decodes the file while it is arriving.
    private var decoder: (any IncrementalImageDecoding)?
    /// The decoder of the frames so far; `nil` while there is only one.
    private(set) var frames: (any InterruptibleFrameDecoding)?
    /// Whether the file has arrived.
    private(set) var isWhole = false
    /// Whether the file cannot be decoded, so that nothing of it is kept.
    private(set) var isBroken = false

    init(_ command: DecodeCommand, _ coders: CoderRegistry) {
        (self.coders, format, options) = (coders, command.format, command.options)
    }

    /// The number of bytes of the file so far.
    var byteCount: Int { data.count }

    /// Adds the next bytes of an arriving file.
    /// - Parameters:
    ///   - isAll: Whether they are the whole file so far, in memory that is kept rather than copied.
    ///   - isArriving: Whether more bytes will follow.
    func append(_ next: Data, isAll: Bool, isArriving: Bool) throws(ImageError) {
        isWhole = !isArriving
        // Bytes without a new frame change nothing, except at the end of the file.
        guard !next.isEmpty || isWhole else { return }
        if isAll { data = next } else { data.append(next) }
        do throws(ImageError) {
            guard let animation = try grown(by: next) else { return }
            let decoder = animation.makeInterruptibleDecoder()
            if let frames { decoder.takeOver(from: frames) }
            frames = decoder
        } catch {
            isBroken = true
            throw error
        }
    }

    /// - Returns: `nil` if there is no new frame.
    private func grown(by next: Data) throws(ImageError) -> ImageAnimation? {
        if isWhole {
            if let decoder = exchange(&decoder, with: nil) { return try decoder.finish(data).animation }
            let coder = try coders.decoder(for: data, url: nil, hint: options.formatHint)
            return try coder.decode(data, options: options).animation
        }
        if decoder == nil {
            decoder = coders.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
        }
        try decoder?.append(next)
        return decoder?.partialImage()?.animation
    }
}
