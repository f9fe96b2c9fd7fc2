import FoundationEssentials
import WebImageCore

/// A decoder that runs in a worker of the sandbox.
struct SandboxedCoder: CancellableImageDecoding, SlowImageDecoding {
    /// The decoder, which the workers have as well.
    let coder: any ImageDecoding
    let sandbox: DecodeSandbox
    /// Whether images of unavailable workers are decoded in this process, and those of the app's own resources always are.
    let isOptional: Bool

    func canDecode(_ format: ImageFormat) -> Bool { coder.canDecode(format) }

    func canDecode(_ head: Data, format: ImageFormat) -> Bool { coder.canDecode(head, format: format) }

    func isSlow(_ format: ImageFormat) -> Bool {
        !isSandboxed(format) && (coder as? any SlowImageDecoding)?.isSlow(format) == true
    }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, options: options, holding: nil) { false }
    }

    func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        guard isSandboxed(format, options) else {
            guard let coder = coder as? any CancellableImageDecoding else {
                return try coder.decode(data, options: options)
            }
            return try coder.decode(data, options: options, holding: reservation, isCancelled: isCancelled)
        }
        var command = DecodeCommand(.decode)
        command.options = options
        let (answer, payload, _) = try sandbox.perform(command, data, isCancelled: isCancelled)
        return try sandbox.image(answer, payload, of: data, format: format, options: options)
    }

    func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        guard isSandboxed(format, options) else { return coder.makeIncrementalDecoder(for: format, options: options) }
        return SandboxedIncrementalDecoder(sandbox, of: format, options: options)
    }

    /// Whether a file goes to a worker.
    func isSandboxed(_ format: ImageFormat, _ options: DecodeOptions) -> Bool {
        guard isSandboxed(format) else { return false }
        return !isOptional || sandbox.isAvailable && options.url?.scheme != "resource"
    }

    /// gdk-pixbuf sometimes decodes in processes of its own, which a worker may not start; and the fonts of SVG and PDF are files.
    private func isSandboxed(_ format: ImageFormat) -> Bool {
        guard let pixbuf = coder as? PixbufCoder else { return format != .pdf }
        return format != .svg && !pixbuf.decodesElsewhere(format)
    }
}

/// A sandboxed decoder of a format with thumbnails.
struct SandboxedThumbnailCoder: CancellableImageDecoding, ThumbnailDecoding {
    let coder: SandboxedCoder

    func canDecode(_ format: ImageFormat) -> Bool { coder.canDecode(format) }

    func canDecode(_ head: Data, format: ImageFormat) -> Bool { coder.canDecode(head, format: format) }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try coder.decode(data, options: options)
    }

    func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        try coder.decode(data, options: options, holding: reservation, isCancelled: isCancelled)
    }

    func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        coder.makeIncrementalDecoder(for: format, options: options)
    }

    func thumbnail(in data: Data, options: DecodeOptions) -> WebImage? {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        guard coder.isSandboxed(format, options) else {
            return (coder.coder as? any ThumbnailDecoding)?.thumbnail(in: data, options: options)
        }
        var command = DecodeCommand(.thumbnail)
        command.options = options
        // It stands in the head of the file.
        let head = data.prefix(Self.headLength)
        guard let (answer, payload, _) = try? coder.sandbox.perform(command, head), case .image = answer else {
            return nil
        }
        return try? coder.sandbox.image(answer, payload, of: head, format: format, options: options)
    }

    private static let headLength = 256 << 10
}

extension DecodeSandbox {
    /// The image of an answer.
    /// - Parameters:
    ///   - data: The file, of which an animation keeps the bytes.
    ///   - format: The format of the file, as the app has recognised it.
    func image(
        _ answer: DecodeAnswer,
        _ payload: DecodeWorker.Payload?,
        of data: Data,
        format: ImageFormat,
        options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        guard case .image(let image) = answer, let payload else {
            if case .failure(let failure) = answer { throw failure.error(for: options.url) }
            throw options.badData("The decode worker has found no image")
        }
        let animation = image.animation.flatMap { animation in
            options.isFirstFrameOnly
                ? nil
                : ImageAnimation(
                    durations: payload.durations,
                    loopCount: animation.loopCount,
                    size: animation.size,
                    hasAlpha: animation.hasAlpha,
                    byteCount: data.count,
                    fileData: data,
                    arrival: nil,
                    memory: options.budget?.holdAnimation(data.count)
                ) { [canvas = image.sourceSize] in
                    SandboxedFrames(self, data, canvas: canvas, size: animation.size, options: options)
                }
        }
        return WebImage(
            pixels: payload.pixels,
            naturalSize: image.naturalSize,
            format: format,
            image.orientation,
            options
        )
        .with { content in
            (content.sourceSize, content.decodedSize) = (image.sourceSize, image.decodedSize)
            (content.isPartial, content.isPreview) = (image.isPartial, image.isPreview)
            (content.isThumbnail, content.animation) = (image.isThumbnail, animation)
        }
    }
}
