public import WebImageCore

// Large images that are decoded by region.
extension ImageManager {
    /// Loads the file of a large image and opens it for decoding by region: a map, a scan, or a photograph to zoom into. Cancelling
    /// the awaiting Swift task cancels the load.
    ///
    /// The bytes load as with ``/WebImageCore/ImageManager/data(for:)``: from the disk cache or the loader, with the policy and
    /// priority of the request, once for all tasks. If the format has no regions, the whole image is then decoded at a size that
    /// fits in `maximumByteCount`; otherwise nothing is decoded yet, and the pixel limit applies to each region rather than the
    /// image. The size and transformer of the request are ignored.
    /// - Parameters:
    ///   - request: A URL or an ``/WebImageCore/ImageRequest``.
    ///   - maximumByteCount: The most bytes of pixels to keep of a file whose format has no regions. Larger images lose detail.
    ///     Default: 256 MiB, for 67 megapixels with alpha.
    /// - Throws: ``/WebImageCore/ImageError``, as loads of images do.
    public func tiledImage(
        for request: some ImageRequestConvertible,
        maximumByteCount: Int = 256 << 20
    ) async throws(ImageError) -> TiledImage {
        let data = try await data(for: request)
        let request = prepare(request.imageRequest).request
        return try await RegionDecoder(pipeline.dependencies).open(data, of: request, limit: maximumByteCount)
    }
}
