public import FoundationEssentials
public import WebImageCore

/// An image that is too large to be decoded as a whole, and is decoded by region: the counterpart of BitmapRegionDecoder on Android
/// and CATiledLayer on Apple's systems.
///
/// ``GtkWebImageZoom/WebImageCore/ImageManager/tiledImage(for:maximumByteCount:)`` makes it. You may use it on any thread. Regions
/// are decoded on the manager's decode queue, in workers like other images.
///
///     let map = try await ImageManager.shared.tiledImage(for: url)
///     let corner = try await map.region(PixelRect(x: 0, y: 0, width: 512, height: 512))
///     let overview = try await map.region(map.bounds, scale: 0.125)
///
/// JPEG in one scan, and lossy WebP without alpha, are decoded by region: the object keeps the bytes of the file, and a region
/// takes longer the more rows are above it, because they must be read. All other files are decoded once, when the object is made,
/// at a size that fits in a limit of bytes; the object then keeps the pixels. Of an animation, only the first frame counts.
public final class TiledImage: Sendable {
    /// The URL that was requested.
    public let url: URL
    /// The size of the upright image in pixels.
    public let size: PixelSize
    /// The format of the file.
    public let format: ImageFormat
    /// Whether regions are decoded without the rest of the image. Otherwise the whole image is kept, with less detail if it exceeds
    /// `maximumByteCount`.
    package let decodesRegions: Bool
    /// The number of bytes of the file.
    public let byteCount: Int
    private let regions: ImageRegions

    init(url: URL, format: ImageFormat, byteCount: Int, decodesRegions: Bool, _ regions: ImageRegions) {
        (self.url, self.format, self.byteCount) = (url, format, byteCount)
        (self.decodesRegions, self.regions, size) = (decodesRegions, regions, regions.size)
    }

    /// The rectangle of the whole image.
    public var bounds: PixelRect { PixelRect(x: 0, y: 0, width: size.width, height: size.height) }

    /// Decodes a part of the image. Cancelling the awaiting Swift task cancels the decode.
    ///
    /// Regions whose edges are multiples of `1 / scale`, for a scale of 1, 1/2, 1/4 or 1/8, fit together without a seam.
    /// - Parameters:
    ///   - rect: The part in upright pixels of the file. It is clipped to the image.
    ///   - scale: Pixels of the result per pixel of the file, at most 1. Default: 1.
    ///   - priority: The urgency among all decodes. Default: as for an image on screen.
    /// - Returns: The region as a separate image.
    /// - Throws: ``/WebImageCore/ImageError`` with ``/WebImageCore/ImageError/Code/imageTooLarge`` for more pixels than the
    ///   manager's `maximumPixelCount`, ``/WebImageCore/ImageError/Code/badImageData`` for a damaged file or a rectangle outside
    ///   the image, or ``/WebImageCore/ImageError/Code/cancelled``.
    public func region(
        _ rect: PixelRect,
        scale: Double = 1,
        priority: ImagePriority = .high
    ) async throws(ImageError) -> WebImage {
        guard let rect = rect.clipped(to: size) else {
            throw DecodeOptions(url: url).badData("The region lies outside of the \(size) pixels of the image")
        }
        let scale = scale.bounded(to: 1e-9...1, ifNaN: 1)
        let grid = TileGrid(size: size, scale: scale)
        let region = DecodeRegion(rect: grid.reduced(rect), reduction: grid.reduction)
        let image = try await regions.image(of: region, priority: priority)
        guard image.pixelSize == region.rect.size else {
            throw DecodeOptions(url: url).badData(
                "A region of \(region.rect.size) pixels was decoded to \(image.pixelSize)"
            )
        }
        guard scale * Double(grid.reduction) < 1 else { return image }
        let target = PixelSize(
            width: max(Int((Double(rect.size.width) * scale).rounded()), 1),
            height: max(Int((Double(rect.size.height) * scale).rounded()), 1)
        )
        guard target != image.pixelSize else { return image }
        let pixels = try image.pixels.resized(to: target, orientation: .up, DecodeOptions(url: url))
        return image.replacingPixels(pixels, keepsNaturalSize: false)
    }
}
