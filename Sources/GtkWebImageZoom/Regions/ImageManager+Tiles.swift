public import WebImageCore

// Large images, of which regions are decoded.
extension ImageManager {
    /// Loads the file of a large image, of which regions can then be decoded: for a map, a scan, or a photograph to zoom into.
    /// Cancelling the awaiting Swift task cancels the load.
    ///
    /// The bytes come as with ``/WebImageCore/ImageManager/data(for:)``: from the disk cache or the loader, with the policy and the
    /// priority of the request, once for all tasks. Nothing is decoded yet, and the limit of pixels holds for each region rather than
    /// for the image. The size and the transformer of the request do not matter.
    /// - Parameters:
    ///   - request: A URL or an ``/WebImageCore/ImageRequest``.
    ///   - maximumByteCount: The most bytes of pixels that are kept of a file whose format has no regions. Larger images have less detail.
    ///     Default: 256 MiB, for 67 megapixels with alpha.
    /// - Throws: ``/WebImageCore/ImageError``, as loads of images do.
    public func tiledImage(
        for request: some ImageRequestConvertible,
        maximumByteCount: Int = 256 << 20
    ) async throws(ImageError) -> TiledImage {
        let data = try await data(for: request)
        let request = pipeline.prepare(request.imageRequest)
        return try await RegionDecoder(pipeline.dependencies).open(data, of: request, limit: maximumByteCount)
    }
}
