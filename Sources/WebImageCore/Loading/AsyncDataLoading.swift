public import FoundationEssentials

/// A loader that is written as an asynchronous function, for bytes that an app keeps in a library, a database or an archive.
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
/// It is a ``DataLoading``, so that a registry, a request and a configuration take it as it is. Each load runs in a Swift task of its
/// own: one that is slow holds no other load up, and there are as many at a time as loads have been started.
public protocol AsyncDataLoading: DataLoading {
    /// Returns the bytes of a URL.
    ///
    /// The Swift task in which it runs is cancelled with the load, and has the priority of the request; it is raised with that of the
    /// load from Swift 6.2 on. What it returns or throws then is not used.
    /// - Throws: An ``ImageError``, with which the load ends, or which ``RetryPolicy`` answers. Another error ends the load with
    ///   ``ImageError/Code/unreadable``. More than ``LoaderRequest/maximumByteCount`` bytes end it with
    ///   ``ImageError/Code/bodyTooLarge``.
    func data(for request: LoaderRequest) async throws -> LoaderResult
}

extension AsyncDataLoading {
    /// Starts ``data(for:)`` in a Swift task.
    public func load(
        _ request: LoaderRequest,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any FetchOperation {
        let fetch = AsyncFetch(request, loader: "\(Self.self)", onEvent: onEvent)
        fetch.start { try await data(for: request) }
        return fetch
    }
}

/// A loader that is written as an asynchronous function and brings the bytes one part after the other, so that images appear while
/// they arrive (``ImageRequest/Loading/progressive``) and progress is reported.
///
/// In all else it is like an ``AsyncDataLoading``. A type is one of the two.
public protocol AsyncDataStreaming: DataLoading {
    /// Returns the bytes of a URL as they arrive. The Swift task in which it runs and reads the stream is cancelled with the load.
    /// - Throws: As ``AsyncDataLoading/data(for:)``. So do the chunks.
    func stream(for request: LoaderRequest) async throws -> LoaderStream
}

extension AsyncDataStreaming {
    /// Starts ``stream(for:)`` in a Swift task, and reads the stream there.
    public func load(
        _ request: LoaderRequest,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any FetchOperation {
        let fetch = AsyncFetch(request, loader: "\(Self.self)", onEvent: onEvent)
        fetch.start { try await fetch.read(try await stream(for: request)) }
        return fetch
    }
}

/// The bytes of a URL as they arrive, with what is known of them before.
public struct LoaderStream: Sendable {
    /// The number of all bytes, for progress; `nil` when it is not known. A stream of another length fails with
    /// ``ImageError/Code/transferIncomplete``.
    public var expectedByteCount: Int64?
    /// The header fields that matter for caching.
    public var metadata: ResponseMetadata
    /// The head of the response, for ``LoadResponse/head``. Default: none.
    public var head: ResponseHead?
    /// Reads the chunks one after the other.
    let forEach: @Sendable (_ body: @Sendable (Data) throws -> Void) async throws -> Void

    /// Makes a stream.
    /// - Parameters:
    ///   - chunks: The bytes in parts of any size.
    ///   - expectedByteCount: The number of all bytes. Default: not known.
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
