public import FoundationEssentials
import Synchronization

/// The loaders of a manager, newest first. From any thread.
public final class LoaderRegistry: Sendable {
    /// Stands for a loader that was added.
    public struct Registration: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct State {
        var loaders: [(number: Int, loader: any DataLoading)] = []
        var lastNumber = 0
    }

    private let state = Mutex(State())

    /// - Parameter loaders: Asked in order.
    package init(_ loaders: [any DataLoading]) {
        for loader in loaders.reversed() { add(loader) }
    }

    /// Adds a loader that is asked before all others.
    @discardableResult
    public func add(_ loader: any DataLoading) -> Registration {
        state.withLock { state in
            state.lastNumber += 1
            state.loaders.insert((state.lastNumber, loader), at: 0)
            return Registration(number: state.lastNumber)
        }
    }

    /// Takes a loader out again. What it loads just now goes on.
    public func remove(_ registration: Registration) {
        state.withLock { state in state.loaders.removeAll { $0.number == registration.number } }
    }

    /// The newest loader that takes url.
    public func loader(for url: URL) -> (any DataLoading)? {
        let loaders = state.withLock { $0.loaders }
        return loaders.first { $0.loader.canLoad(url) }?.loader
    }
}
