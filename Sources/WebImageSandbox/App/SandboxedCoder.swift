import FoundationEssentials
import WebImageCore

/// A decoder that runs in a worker of the sandbox.
struct SandboxedCoder: ExtendedDecoding {
    let coder: any ExtendedDecoding
    let sandbox: DecodeSandbox
    let isOptional: Bool
    let neverHere: Set<ImageFormat>
    let kind: WorkerKind
    let isElsewhere: (@Sendable (ImageFormat) -> Bool)?

    var findsThumbnails: Bool { coder.findsThumbnails }

    func canDecode(_ format: ImageFormat) -> Bool { coder.canDecode(format) }

    func canDecode(_ head: Data, format: ImageFormat) -> Bool { coder.canDecode(head, format: format) }

    func isSlow(_ format: ImageFormat) -> Bool { coder.isSlow(format) }

    func installedFormat(_ head: Data, as format: ImageFormat) -> ImageFormat? {
        coder.installedFormat(head, as: format)
    }

    func decodesRegions(of data: Data) -> Bool { coder.decodesRegions(of: data) }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, options: options, holding: nil) { false }
    }

    func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        let recognised = ImageFormat(sniffing: data, hint: options.formatHint)
        let format = installedFormat(data.prefix(ImageFormat.sniffLength), as: recognised) ?? recognised
        var command = DecodeCommand(.decode)
        (command.options, command.limit) = (options, DecodeAnswer.Limit(options, data))
        if let image = try image(command, of: data, as: format, isCancelled) { return image }
        return try coder.decode(data, options: options, holding: reservation, isCancelled: isCancelled)
    }

    /// The image that a worker decodes from a file.
    /// - Returns: `nil` if the file must be decoded in this process.
    func image(
        _ command: DecodeCommand,
        of data: Data,
        as format: ImageFormat,
        _ isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage? {
        guard let kind = kind(format, command.options) else { return nil }
        var file = SandboxedFile(data: data, format: format, kind: kind)
        // The bytes are sent in a file in any case, and an animation can keep that file.
        if command.kind == .decode, data.count > SharedMemory.byteCount / 2 { file.share() }
        let answer: DecodeAnswer
        let payload: DecodeWorker.Payload?
        do throws(ImageError) {
            (answer, payload, _) = try sandbox.pool(kind).perform(command, file.data, isCancelled: isCancelled)
        } catch
            where error.code == .decoderUnavailable && mayBeHere(format, command.options, by: kind)
        {
            return nil
        }
        return try sandbox.image(answer, payload, of: file, options: command.options)
    }

    /// The kind of worker that decodes a file; `nil` if this process does.
    func kind(_ format: ImageFormat, _ options: DecodeOptions) -> WorkerKind? {
        guard isElsewhere?(format) != true else { return nil }
        let kind = format == .svg ? .drawings : kind
        if isOptional, options.url?.scheme == "resource" { return nil }
        return sandbox.pool(kind).canStart || !mayBeHere(format, options, by: kind) ? kind : nil
    }

    /// Whether a file may be decoded in this process if no worker starts. This must not depend on the messages, actions
    /// or fate of a worker, because a malicious file may control it.
    private func mayBeHere(_ format: ImageFormat, _ options: DecodeOptions, by kind: WorkerKind) -> Bool {
        guard isOptional else { return false }
        if ["file", "resource"].contains(options.url?.scheme) { return !sandbox.pool(kind).hasStarted }
        return !neverHere.contains(format) && !sandbox.hasStarted
    }
}

extension DecodeSandbox {
    /// Creates the image of an answer.
    /// - Parameter file: The file, in the format recognized by the app. An animation keeps its bytes.
    func image(
        _ answer: DecodeAnswer,
        _ payload: DecodeWorker.Payload?,
        of file: SandboxedFile,
        options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        var file = file
        guard case .image(let image) = answer, let payload else {
            if case .failure(let failure) = answer { throw failure.of(options.url) }
            throw options.badData("The decode worker has found no image")
        }
        let described = options.isFirstFrameOnly ? nil : image.animation
        if described != nil { file.share() }
        let animation = described.map { [file] animation in
            ImageAnimation(
                durations: payload.durations,
                loopCount: animation.loopCount,
                size: animation.size,
                hasAlpha: animation.hasAlpha,
                byteCount: file.data.count,
                fileData: file.isWhole ? file.data : nil,
                arrival: file.arrival.map { ($0, image.orientation) },
                memory: options.budget?.holdAnimation(file.data.count)
            ) { [canvas = image.sourceSize] in
                let pool = self.framePool(file.kind)
                return SandboxedFrames(pool, file, canvas: canvas, size: animation.size, options: options)
            }
        }
        return WebImage(
            pixels: payload.pixels,
            naturalSize: image.naturalSize,
            format: file.format,
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
