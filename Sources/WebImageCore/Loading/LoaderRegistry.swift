public import FoundationEssentials

/// The loaders of a manager. The one added last is asked first. It can be used from any thread.
public final class LoaderRegistry: Sendable {
    /// Identifies a loader that was added.
    public struct Registration: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private let loaders: OrderedRegistry<any DataLoading>

    /// - Parameter loaders: The loaders in the order in which they are asked.
    package init(_ loaders: [any DataLoading]) {
        self.loaders = OrderedRegistry(loaders)
    }

    /// Adds a loader, which is asked before all others.
    @discardableResult
    public func add(_ loader: any DataLoading) -> Registration {
        Registration(number: loaders.add(loader))
    }

    /// Removes a loader. Its loads in flight are not affected.
    public func remove(_ registration: Registration) {
        loaders.remove(registration.number)
    }

    /// The first loader that takes a URL.
    public func loader(for url: URL) -> (any DataLoading)? {
        loaders.first { $0.canLoad(url) }
    }
}

extension LoaderRegistry {
    /// The loader of a request: its own, or the first that takes its URL.
    func loader(for request: ImageRequest) -> (any DataLoading)? {
        request.loader ?? loader(for: request.url)
    }

    /// Whether a cached response serves a request, which may depend on the header fields that its loader would send
    /// (RFC 9111, section 4.1).
    func use(of response: ResponseMetadata, for request: ImageRequest, now: Date) -> StoredResponseUse {
        var headers: [String: String] = [:]
        if response.vary != nil {
            let loaderRequest = LoaderRequest(url: request.url, options: request.networkOptions)
            headers = loader(for: request)?.headers(for: loaderRequest) ?? [:]
        }
        return StoredResponseUse(response, policy: request.cachePolicy, headers: headers, now: now)
    }
}
