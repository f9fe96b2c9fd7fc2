package import FoundationEssentials

extension ImageRequest {
    /// Whether a request has its own way of decoding: its own decoder, decoder parameters, or a format hint that
    /// applies.
    /// - Parameter format: The format recognized from the bytes; `nil` before they arrive.
    func hasOwnDecoding(of format: ImageFormat?) -> Bool {
        decoder != nil || !decoderParameters.isEmpty || formatHint != nil && (format == nil || format == .unknown)
    }
}

/// How bytes are decoded for a request.
struct DecodePlan: Sendable {
    let coder: any ExtendedDecoding
    /// The format of the file.
    let format: ImageFormat
    /// Whether a transformer may change the pixels, or an encoder make a rendition.
    var isChanged: Bool
    var options: DecodeOptions

    /// Whether decoding can take seconds.
    var isSlow: Bool { coder.isSlow(format) }
}

/// Chooses how the image of a request is made from bytes, and runs the transformer. It uses neither queues nor the graph.
package final class ImageMaker: Sendable {
    private let dependencies: Pipeline.Dependencies
    /// The formats that need no further check.
    private let allowedFormats: Set<ImageFormat>

    package init(_ dependencies: Pipeline.Dependencies) {
        self.dependencies = dependencies
        allowedFormats = dependencies.formats.everywhere
    }

    package func decodeOptions(_ request: ImageRequest) -> DecodeOptions {
        var options = DecodeOptions(
            url: request.url,
            size: request.resolvedDecodeSize,
            scale: request.scale,
            maximumPixelCount: dependencies.maximumPixelCount
        )
        options.isFirstFrameOnly = request.isFirstFrameOnly
        options.formatHint = request.formatHint
        options.pixelFormat = request.pixelFormat
        if request.hasRareAttributes {
            options.decoderParameters = request.decoderParameters
            options.appliesOrientation = request.appliesOrientation
        }
        options.convertsToSRGB = request.convertsToSRGB
        options.budget = dependencies.budget
        options.keepsWideColors = dependencies.keepsWideColors && request.convertsToSRGB
        return options
    }

    /// The decoder for a whole file or its beginning.
    /// - Throws: ``ImageError/Code/formatNotAllowed``, and the errors of ``CoderRegistry``.
    package func coder(
        for data: Data,
        as format: ImageFormat,
        of request: ImageRequest
    ) throws(ImageError) -> any ExtendedDecoding {
        if !allowedFormats.contains(format) { try dependencies.formats.check(format, url: request.url) }
        let coder = try dependencies.coders.decoder(
            for: data,
            as: format,
            url: request.url,
            preferring: request.decoder
        )
        // A format without a descriptor belongs to the app or was installed on the system.
        if format.descriptor == nil,
            let installed = coder.installedFormat(data.prefix(ImageFormat.sniffLength), as: format)
        {
            try dependencies.formats.check(installed, isInstalled: true, url: request.url)
        }
        return coder
    }

    /// The error of a file that begins with these bytes of no known format, if they show that it is not an image.
    func problem(of head: Data, for request: ImageRequest) -> ImageError? {
        guard request.formatHint == nil else { return nil }
        do throws(ImageError) { _ = try coder(for: head, as: .unknown, of: request) } catch {
            return error.code == .badImageData ? error : nil
        }
        return nil
    }

    /// Chooses how the bytes are decoded for a request, whose hint counts if the format is not recognized.
    /// - Throws: As ``coder(for:as:of:)``.
    func plan(of source: FetchedData, for request: ImageRequest) throws(ImageError) -> DecodePlan {
        let format = source.format == .unknown ? request.formatHint ?? .unknown : source.format
        return DecodePlan(
            coder: try coder(for: source.loaded.data, as: format, of: request),
            format: format,
            isChanged: request.transformer != nil
                || dependencies.renditionCache != nil && request.resolvedDecodeSize != .original,
            options: decodeOptions(request)
        )
    }

    /// Starts to decode a file that is still arriving.
    /// - Returns: `nil` when the decoder cannot show parts of it.
    func makeIncrementalDecoder(for head: Data, of request: ImageRequest) -> BudgetedIncrementalDecoder? {
        var options = decodeOptions(request)
        let format = ImageFormat(sniffing: head, hint: request.formatHint)
        let hasHeader = format.descriptor?.readHeader != nil
        if !hasHeader { options.reservedPixelCount = DecodeCost.unknown(options).pixelCount }
        let decoder = (try? coder(for: head, as: format, of: request))?.makeIncrementalDecoder(
            for: format,
            options: options
        )
        return decoder.map {
            BudgetedIncrementalDecoder($0, hasHeader: hasHeader, options: options, budget: dependencies.budget)
        }
    }

    /// Whether a decoder of the library finds thumbnails in files of a format.
    func mayHaveThumbnail(_ format: ImageFormat) -> Bool {
        dependencies.coders.decoder(for: format)?.extended.findsThumbnails == true
    }

    /// The thumbnail in a file or in its beginning, as a partial image.
    /// - Returns: `nil` if there is no useful thumbnail, or the decoder does not look for one.
    func thumbnail(in data: Data, for request: ImageRequest) -> WebImage? {
        let format = ImageFormat(sniffing: data, hint: request.formatHint)
        return (try? coder(for: data, as: format, of: request))?.thumbnail(in: data, options: decodeOptions(request))
    }

    /// Runs the steps of the transformer on a partial or stale image, which is not shared with other jobs.
    func transform(_ image: WebImage, for request: ImageRequest) throws(ImageError) -> WebImage {
        try transform(image, for: request) { _, make throws(ImageError) in try make() }.image
    }

    /// Runs the steps of the transformer.
    /// - Parameter share: Returns the image of a step: the result of `make`, or the image that another job made under this key.
    func transform(
        _ image: WebImage,
        for request: ImageRequest,
        share: (_ key: String, _ make: () throws(ImageError) -> WebImage) throws(ImageError) -> WebImage
    ) throws(ImageError) -> (image: WebImage, duration: Duration) {
        guard let transformer = request.transformer else { return (image, .zero) }
        var image = image
        if let scale = request.displayScale { image = image.with { $0.displayScale = scale } }
        let start = ContinuousClock.now
        var key = "\(request.displayScale ?? 0)"
        for step in transformer.steps {
            key += " \(step.distinctKey)"
            let input = image
            image = try share(key) { () throws(ImageError) in
                guard let output = ImageTransformer.apply(step, to: input) else {
                    throw .transformFailed(step.key, of: request.url, size: input.pixelSize)
                }
                return output
            }
        }
        let duration = ContinuousClock.now - start
        dependencies.observers.notify(request.url, .transformed(duration))
        return (image, duration)
    }
}
