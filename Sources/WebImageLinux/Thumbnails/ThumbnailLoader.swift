public import FoundationEssentials
public import WebImageCore

extension ImageRequest {
    /// Makes a request for the thumbnail of a file on this machine, as file managers show it: also of a video, a document, or
    /// whatever else a program on the desktop makes thumbnails of.
    ///
    ///     picture.setImage(with: ImageRequest(thumbnailOf: movie, createsMissing: true))
    /// - Parameters:
    ///   - file: A `file:` URL.
    ///   - size: The size of the thumbnail. Default: 256 pixels.
    ///   - createsMissing: Whether a thumbnail that does not exist is made and stored for all programs: images by this library,
    ///     other files by the installed thumbnailer of their type, which runs for at most 30 seconds, in a sandbox where bubblewrap
    ///     is installed. Default: no; the load fails with ``/WebImageCore/ImageError/Code/unreadable``.
    public init(thumbnailOf file: URL, size: DesktopThumbnails.Size = .large, createsMissing: Bool = false) {
        self.init(
            thumbnailOf: file,
            ThumbnailLoader(thumbnails: .standard, thumbnailers: .standard, size: size, createsMissing: createsMissing)
        )
    }

    init(thumbnailOf file: URL, _ loader: ThumbnailLoader) {
        self.init(url: file)
        // The name of the file says nothing of its thumbnail, and one that can be made is another image than one that has to be there.
        cacheKey = "thumbnail:\(loader.size.rawValue):\(loader.createsMissing):\(file.absoluteString)"
        self.loader = loader
        formatHint = .png
    }
}

/// Loads the thumbnails of files.
struct ThumbnailLoader: DataLoading {
    static let queue = WorkQueue(name: "gwi-thumbnails", threadCount: 2, isBatch: true)

    /// Decodes the files of strangers that the app asks thumbnails of, in workers where there can be any.
    private static let coders = CoderRegistry.builtIn(
        adding: [],
        sandbox: ImageManager.Configuration.Decoding.automatic.sandbox
    )

    let thumbnails: DesktopThumbnails
    let thumbnailers: Thumbnailers
    let size: DesktopThumbnails.Size
    let createsMissing: Bool

    func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == "file" }

    /// Returns false, because the thumbnails are on this machine already.
    func shouldCacheOnDisk(_ url: URL) -> Bool { false }

    func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation {
        let operation = LocalLoad(queue: Self.queue)
        operation.start(priority: request.priority) {
            let result = Result { () throws(ImageError) in try find(request.url, for: operation) }
            if !operation.isCancelled { onEvent(.finished(result.map { LoaderResult(data: $0) })) }
        }
        return operation
    }

    private func find(_ file: URL, for operation: LocalLoad) throws(ImageError) -> Data {
        guard let source = SourceFile(file), !thumbnails.contains(source) else { throw .noThumbnail(of: file) }
        if let found = thumbnails.thumbnail(of: source, longestSide: size.rawValue) { return found.data }
        guard createsMissing, !thumbnails.hasFailure(of: source) else { throw .noThumbnail(of: file) }
        if let made = try make(source, file, for: operation) { return made }
        // What was cancelled, or could not even begin, may work the next time.
        if !operation.isCancelled { thumbnails.storeFailure(of: source) }
        throw .noThumbnail(of: file)
    }

    private func make(_ source: SourceFile, _ file: URL, for operation: LocalLoad) throws(ImageError) -> Data? {
        if let image = image(of: source) { return try thumbnails.store(image, for: source, size) }
        let made = thumbnailers.make(source, longestSide: size.rawValue, isCancelled: { operation.isCancelled })
        // Nothing that another program has written is taken for a PNG unseen.
        guard let made, let header = ImageHeader(reading: made), header.format == .png,
            max(header.storedSize.width, header.storedSize.height) <= size.rawValue,
            (try? Self.coders.decode(made, options: DecodeOptions(url: file))) != nil
        else { return nil }
        return try thumbnails.store(file: made, for: source, size)
    }

    /// The image in a file that the library decodes itself, not larger than the thumbnail.
    private func image(of source: SourceFile) -> WebImage? {
        let limit = ImageDownloader.shared.configuration.maximumByteCount
        guard let head = try? FileStore().readHead(pathBytes: source.path, byteCount: ImageFormat.sniffLength),
            case let format = ImageFormat(sniffing: head), format != .unknown, format != .svg,
            Self.coders.decoder(for: format) != nil,
            let data = try? FileStore().read(pathBytes: source.path, maximumByteCount: limit)
        else { return nil }
        var options = DecodeOptions()
        options.size = .contain(PixelSize(width: size.rawValue, height: size.rawValue))
        options.isFirstFrameOnly = true
        options.budget = SystemResources.loadingBudget
        return try? Self.coders.decode(data, options: options)
    }
}
