package import FoundationEssentials

/// The loaders of a manager. The one added last is asked first. It can be used from any thread.
public final class LoaderRegistry: Sendable {
    private let loaders: OrderedRegistry<any DataLoading>

    /// - Parameter loaders: The loaders in the order in which they are asked.
    package init(_ loaders: [any DataLoading]) {
        self.loaders = OrderedRegistry(loaders)
    }

    /// Adds a loader, which is asked before all others.
    public func add(_ loader: any DataLoading) {
        loaders.add(loader)
    }

    /// All loaders, in the order in which they are asked.
    var all: [any DataLoading] { loaders.all }

    /// The loader that would be asked for a URL: the one added last among those that accept it; `nil` if there is none.
    package func loader(for url: URL) -> (any DataLoading)? {
        loaders.first { $0.canLoad(url) }
    }
}
