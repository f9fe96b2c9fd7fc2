package import FoundationEssentials

/// A loader of bytes on this machine, on the I/O queue: files, resources, data URLs.
package struct LocalLoader: DataLoading {
    private let scheme: String
    private let queue: WorkQueue
    private let reads: any WorkSubmitting
    private let version: (@Sendable (URL) -> FileVersion?)?
    private let thumbnails: (any SharedThumbnailFinding)?
    private let read: @Sendable (URL) throws(ImageError) -> LoaderResult

    /// - Parameters:
    ///   - budget: Has no room while too many bytes wait to be decoded. Default: there is always room.
    ///   - version: Returns the current version of the bytes; `read` returns its entity tag with them. It may block.
    ///     Default: the bytes have no versions.
    ///   - thumbnails: Finds small versions of files. Default: none.
    ///   - read: Returns the bytes. It may block.
    package init(
        scheme: String,
        queue: WorkQueue,
        budget: MemoryBudget? = nil,
        version: (@Sendable (URL) -> FileVersion?)? = nil,
        thumbnails: (any SharedThumbnailFinding)? = nil,
        read: @escaping @Sendable (URL) throws(ImageError) -> LoaderResult
    ) {
        self.scheme = scheme
        self.queue = queue
        reads = budget.map { BodyReadQueue(queue, budget: $0) } ?? queue
        self.version = version
        self.thumbnails = thumbnails
        self.read = read
    }

    /// Whether the loader distinguishes versions of its bytes, so that decoded results can be reused.
    var hasVersions: Bool { version != nil }

    /// Whether the loader looks for small versions of its files.
    package var hasThumbnails: Bool { thumbnails != nil }

    /// Finds the current version of the bytes of a URL, on the threads that read files, because a file system may hang.
    func findVersion(
        of url: URL,
        priority: ImagePriority,
        _ body: @escaping @Sendable (FileVersion?) -> Void
    ) {
        guard queue.start() == 0 else { return body(nil) }
        queue.submit(priority: priority) { body(version?(url)) }
    }

    /// Finds the thumbnail that another program has made of a file, on the threads that read files, before the file is read.
    func findThumbnail(
        of url: URL,
        longestSide: Int,
        priority: ImagePriority,
        _ body: @escaping @Sendable (SharedThumbnail) -> Void
    ) {
        guard let thumbnails else { return }
        queue.submit(priority: priority, isResumed: true) {
            if let thumbnail = thumbnails.thumbnail(of: url, longestSide: longestSide) { body(thumbnail) }
        }
    }

    package func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == scheme }

    /// Returns false, because the bytes are already on this machine.
    package func shouldCacheOnDisk(_ url: URL) -> Bool { false }

    package func load(
        _ request: LoaderRequest,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any FetchOperation {
        let operation = LocalLoad(queue: reads)
        operation.start(request, onEvent: onEvent) {
            guard !operation.isCancelled else { return }
            var result = Result { () throws(ImageError) in try read(request.url) }
            if let decryptor = request.options.decryptor, case .success(let loaded) = result {
                let head = ResponseHead(url: request.url, status: 200)
                result = decryptor.result(of: loaded, head, url: request.url)
            }
            guard !operation.isCancelled else { return }
            if case .success(let loaded) = result {
                let count = Int64(loaded.data.count)
                onEvent(.progress(received: count, expected: count))
            }
            onEvent(.finished(result))
        }
        return operation
    }
}

extension LocalLoader {
    /// The loader of file: URLs.
    /// - Parameters:
    ///   - maximumByteCount: The size limit of a file, in bytes.
    ///   - thumbnails: Finds small versions of files. Default: none.
    ///   - now: The clock, which should be that of the file system.
    package static func files(
        queue: WorkQueue,
        maximumByteCount: Int,
        budget: MemoryBudget? = nil,
        thumbnails: (any SharedThumbnailFinding)? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) -> LocalLoader {
        LocalLoader(
            scheme: "file",
            queue: queue,
            budget: budget,
            version: { url in (try? localPathBytes(of: url)).flatMap { FileVersion(pathBytes: $0) } },
            thumbnails: thumbnails,
            read: reader(maximumByteCount: maximumByteCount, now: now)
        )
    }

    /// Reads file: URLs on the caller's thread. Anything but a regular file, such as a pipe, is an error.
    /// - Parameters:
    ///   - maximumByteCount: The size limit of a file, in bytes.
    ///   - now: The clock, which should be that of the file system.
    package static func reader(
        maximumByteCount: Int,
        now: @escaping @Sendable () -> Date = { Date() }
    ) -> @Sendable (URL) throws(ImageError) -> LoaderResult {
        let store = FileStore()
        return { url throws(ImageError) in
            let path = try localPathBytes(of: url)
            do {
                // A change from here on must be noticed.
                let start = now()
                let (data, version) = try store.readVersion(pathBytes: path, maximumByteCount: maximumByteCount)
                var metadata = ResponseMetadata()
                if let version, version.isDistinct(at: start) { metadata.etag = version.etag }
                return LoaderResult(data: data, metadata: metadata)
            } catch {
                throw ImageError(
                    .unreadable,
                    url: url,
                    reason: "The file cannot be read (\(error))",
                    remedy: "Check that it exists, is a regular file below the size limit, and is readable."
                )
            }
        }
    }

    /// The path of a URL on this machine, as text.
    /// - Throws: ``ImageError/Code/invalidURL`` for the reasons of `localPathBytes`, and for a path that is not UTF-8.
    package static func localPath(of url: URL) throws(ImageError) -> String {
        guard let path = String(validating: try localPathBytes(of: url), as: UTF8.self) else {
            throw ImageError(
                .invalidURL,
                url: url,
                reason: "The path of the URL is not UTF-8",
                remedy: "Percent-encode the UTF-8 bytes of the path."
            )
        }
        return path
    }

    /// The path of a URL on this machine. File names need not be UTF-8.
    /// - Throws: ``ImageError/Code/invalidURL`` for another host than this machine (RFC 8089, section 2), and for a
    ///   path that system calls would truncate.
    package static func localPathBytes(of url: URL) throws(ImageError) -> [UInt8] {
        let host = url.host() ?? ""
        guard host.isEmpty || host.lowercased() == "localhost" else {
            throw ImageError(
                .invalidURL,
                url: url,
                reason: "The URL names the host \(host), but \(url.scheme ?? "") URLs are read from this machine only",
                remedy: "Write it with three slashes, as in file:///path, or mount the other machine's directory."
            )
        }
        let path = DataURL.percentDecoded(url.path(percentEncoded: true))
        guard let path, !path.contains(0) else {
            throw ImageError(
                .invalidURL,
                url: url,
                reason: "The path of the URL contains a null character or a % without two digits",
                remedy: "Remove %00 from the path, and write % as %25."
            )
        }
        return Array(path)
    }

    /// The loader of data: URLs (RFC 2397).
    package static func dataURLs(queue: WorkQueue) -> LocalLoader {
        LocalLoader(scheme: "data", queue: queue) { url throws(ImageError) in
            guard let content = DataURL(url.absoluteString) else {
                throw ImageError(
                    .invalidURL,
                    url: url,
                    reason: "The data URL is malformed",
                    remedy: "Write it as data:image/png;base64,... with correct base64 or percent-encoding."
                )
            }
            return LoaderResult(data: content.data, metadata: ResponseMetadata(contentType: content.mediaType))
        }
    }
}

extension DataLoading {
    /// Whether the loader reads files and tells their versions apart.
    var isOfFiles: Bool { (self as? LocalLoader)?.hasVersions == true }
}
