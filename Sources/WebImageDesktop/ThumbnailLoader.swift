public import FoundationEssentials
import Synchronization
public import WebImageCore
import WebImageLinux

extension ImageRequest {
    /// Makes a request for the thumbnail of a local file as file managers show it, even of a video, a document, or any other file
    /// for which the desktop has a thumbnailer.
    ///
    ///     picture.setImage(with: ImageRequest(thumbnailOf: movie, createsMissing: true))
    /// - Parameters:
    ///   - file: A `file:` URL.
    ///   - size: The size of the thumbnail. Default: 256 pixels. It is ignored if the file is an image without a thumbnail, which
    ///     is then loaded itself.
    ///   - createsMissing: Whether to make a missing thumbnail and store it for all programs: the library makes thumbnails of
    ///     images, and the installed thumbnailer makes thumbnails of other files. A thumbnailer runs for at most 30 seconds, in a
    ///     sandbox if bubblewrap is installed. Default: no; then an image is loaded itself, and other files fail with
    ///     ``/WebImageCore/ImageError/Code/unreadable``.
    public init(thumbnailOf file: URL, size: DesktopThumbnails.Size = .large, createsMissing: Bool = false) {
        self.init(
            thumbnailOf: file,
            ThumbnailLoader(thumbnails: .standard, thumbnailers: .standard, size: size, createsMissing: createsMissing)
        )
    }

    init(thumbnailOf file: URL, _ loader: ThumbnailLoader) {
        self.init(url: file)
        // The name of the file says nothing about its thumbnail, and the size and createsMissing may change the image.
        cacheKey = "thumbnail:\(loader.size.rawValue):\(loader.createsMissing):\(file.absoluteString)"
        self.loader = loader
        formatHint = .png
    }
}

struct ThumbnailLoader: DataLoading {
    static let queue = WorkQueue(name: "gwi-thumbnails", threadCount: 2, isBatch: true)

    /// Decodes untrusted files, in workers if possible.
    private static let coders = CoderRegistry.inWorkers

    /// The files whose thumbnailers were killed.
    private struct Unended {
        private static let limit = 1000
        private var texts: Set<String> = []

        private func text(_ source: SourceFile) -> String { source.texts.map(\.value).joined(separator: " ") }

        func contains(_ source: SourceFile) -> Bool { texts.contains(text(source)) }

        mutating func add(_ source: SourceFile) {
            if texts.count >= Self.limit { texts = [] }
            texts.insert(text(source))
        }
    }

    /// Files that this process does not retry, since each attempt may take half a minute.
    private static let unended = Mutex(Unended())

    let thumbnails: DesktopThumbnails
    let thumbnailers: Thumbnailers
    let size: DesktopThumbnails.Size
    let createsMissing: Bool

    func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == "file" }

    /// Returns false, because the thumbnails are already local files.
    func shouldCacheOnDisk(_ url: URL) -> Bool { false }

    func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation {
        let operation = LocalLoad(queue: Self.queue)
        operation.start(request, onEvent: onEvent) {
            let result = Result { () throws(ImageError) in try find(request.url, for: operation) }
            if !operation.isCancelled { onEvent(.finished(result.map { LoaderResult(data: $0) })) }
        }
        return operation
    }

    private func find(_ file: URL, for operation: LocalLoad) throws(ImageError) -> Data {
        guard let source = SourceFile(file), !thumbnails.contains(source) else { throw .noThumbnail(of: file) }
        if let found = thumbnails.thumbnail(of: source, longestSide: size.rawValue) { return found.data }
        let isHopeless = thumbnails.hasFailure(of: source) || Self.unended.withLock { $0.contains(source) }
        guard createsMissing, !isHopeless else {
            if let data = imageFile(source) { return data }
            throw .noThumbnail(of: file)
        }
        if let image = image(of: source) { return try thumbnails.store(image, for: source, size) }
        switch thumbnailers.make(source, longestSide: size.rawValue, isCancelled: { operation.isCancelled }) {
        case .made(let made) where isThumbnail(made): return try thumbnails.store(file: made, for: source, size)
        // The cause may be the file, or a lack of memory on the machine, so the next process tries again.
        case .notEnded: if !operation.isCancelled { Self.unended.withLock { $0.add(source) } }
        case .notTried: break
        case .made, .failed: if !operation.isCancelled { thumbnails.storeFailure(of: source) }
        }
        throw .noThumbnail(of: file)
    }

    /// Whether a program has written a valid thumbnail: a PNG of at most the requested size that can be decoded.
    private func isThumbnail(_ made: Data) -> Bool {
        guard let header = ImageHeader(reading: made), header.format == .png else { return false }
        return max(header.storedSize.width, header.storedSize.height) <= size.rawValue
            && (try? Self.coders.decode(made, options: DecodeOptions())) != nil
    }

    /// The bytes of a file that the library can decode.
    private func imageFile(_ source: SourceFile, except unwanted: ImageFormat = .unknown) -> Data? {
        let limit = ImageDownloader.shared.configuration.maximumByteCount
        guard let head = try? FileStore().readHead(pathBytes: source.path, byteCount: ImageFormat.sniffLength),
            case let format = ImageFormat(sniffing: head), ![.unknown, unwanted].contains(format),
            Self.coders.decoder(for: format) != nil
        else { return nil }
        return try? FileStore().read(pathBytes: source.path, maximumByteCount: limit)
    }

    /// The image in a file, scaled down to the size of the thumbnail.
    private func image(of source: SourceFile) -> WebImage? {
        guard let data = imageFile(source, except: .svg) else { return nil }
        var options = DecodeOptions()
        options.size = .contain(PixelSize(width: size.rawValue, height: size.rawValue))
        options.isFirstFrameOnly = true
        options.budget = SystemResources.loadingBudget
        return try? Self.coders.decode(data, options: options)
    }
}
