public import FoundationEssentials

/// A loader written as an asynchronous function, for bytes in your own library, database or archive.
///
///     struct Photos: AsyncDataLoading {
///         let library: PhotoLibrary
///
///         func canLoad(_ url: URL) -> Bool { url.scheme == "photo" }
///
///         func data(for request: LoaderRequest) async throws -> LoaderResult {
///             LoaderResult(data: try await library.file(named: request.url.lastPathComponent))
///         }
///     }
///
/// It is a ``DataLoading``, so you can add it to a registry, a request or a configuration. Each load runs in a separate
/// Swift task: a slow load does not hold up others, and their number is not limited.
public protocol AsyncDataLoading: DataLoading {
    /// Returns the bytes of a URL.
    ///
    /// The Swift task is cancelled with the load, and its result is then ignored. The task has the priority of the
    /// request, which from Swift 6.2 on is raised with the priority of the load.
    /// - Throws: An ``ImageError``, which ends the load or is retried by ``ImageRetryPolicy``. Another error ends the load
    ///   with ``ImageError/Code/unreadable``. More than ``LoaderRequest/maximumByteCount`` bytes end it with
    ///   ``ImageError/Code/bodyTooLarge``.
    func data(for request: LoaderRequest) async throws -> LoaderResult
}

extension AsyncDataLoading {
    /// Starts ``data(for:)`` in a Swift task.
    public func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation
    {
        let fetch = AsyncFetch(request, loader: "\(Self.self)", onEvent: onEvent)
        fetch.start { try await data(for: request) }
        return fetch
    }
}

/// A loader written as an asynchronous function that returns the bytes in parts, so that images appear while they
/// arrive (``ImageRequest/Loading/progressive``) and progress is reported.
///
/// In all other respects it is like ``AsyncDataLoading``. Conform a type to one of the two.
public protocol AsyncDataStreaming: DataLoading {
    /// Returns the bytes of a URL as they arrive. The Swift task that runs it and reads the stream is cancelled with the load.
    /// - Throws: The same errors as ``AsyncDataLoading/data(for:)``. The stream may throw them as well.
    func stream(for request: LoaderRequest) async throws -> LoaderStream
}

extension AsyncDataStreaming {
    /// Starts ``stream(for:)`` in a Swift task, and reads the stream there.
    public func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation
    {
        let fetch = AsyncFetch(request, loader: "\(Self.self)", onEvent: onEvent)
        fetch.start { try await fetch.read(try await stream(for: request)) }
        return fetch
    }
}

/// The bytes of a URL as they arrive, with their metadata.
public struct LoaderStream: Sendable {
    /// The length of the body, for progress; `nil` if it is not known. A stream of another length fails with
    /// ``ImageError/Code/transferIncomplete``.
    let expectedByteCount: Int64?
    /// The header fields that matter for caching.
    let metadata: ResponseMetadata
    /// The head of the response, for ``LoadResponse/head``. Default: none.
    let head: ResponseHead?
    /// Reads the chunks one after another.
    let forEach: @Sendable (_ body: @Sendable (Data) throws -> Void) async throws -> Void

    /// Creates a stream.
    /// - Parameters:
    ///   - chunks: The bytes in parts of any size.
    ///   - expectedByteCount: The length of the body. Default: not known.
    ///   - metadata: The header fields that matter for caching. Default: none.
    ///   - head: The head of the response. Default: none.
    public init<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks,
        expectedByteCount: Int64? = nil,
        metadata: ResponseMetadata = ResponseMetadata(),
        head: ResponseHead? = nil
    ) where Chunks.Element == Data {
        self.expectedByteCount = expectedByteCount
        self.metadata = metadata
        self.head = head
        forEach = { body in
            for try await chunk in chunks { try body(chunk) }
        }
    }
}
