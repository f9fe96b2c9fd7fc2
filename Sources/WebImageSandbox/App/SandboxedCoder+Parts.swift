import FoundationEssentials
import WebImageCore

// Parts of a file: a region, the thumbnail, and the beginning.
extension SandboxedCoder {
    /// The largest number of pixels of a thumbnail. Cameras write up to 320x240, other programs hardly more than 1024x1024.
    private static let largestThumbnail = 1 << 22
    /// The number of bytes of a file that may contain its thumbnail.
    private static let headLength = 256 << 10

    func decode(
        _ region: DecodeRegion,
        of data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        var command = DecodeCommand(.region)
        (command.options, command.region) = (options, region)
        if let image = try image(command, of: data, as: format, isCancelled) { return image }
        return try coder.decode(region, of: data, options: options, isCancelled: isCancelled)
    }

    func thumbnail(in data: Data, options: DecodeOptions) -> WebImage? {
        guard findsThumbnails else { return nil }
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        guard kind(format, options) != nil else { return coder.thumbnail(in: data, options: options) }
        let head = data.prefix(Self.headLength)
        var command = DecodeCommand(.thumbnail)
        (command.options, command.limit) = (options, DecodeAnswer.Limit(options, head))
        command.limit?.pixelCount = min(options.maximumPixelCount, Self.largestThumbnail)
        return try? image(command, of: head, as: format) { false }
    }

    func makeIncrementalDecoder(for format: ImageFormat, options: DecodeOptions) -> (any IncrementalImageDecoding)? {
        guard let kind = kind(format, options) else {
            return coder.makeIncrementalDecoder(for: format, options: options)
        }
        return SandboxedIncrementalDecoder(sandbox, of: format, by: kind, options: options)
    }
}
