import Synchronization

/// The load of a slot, where the slot's deinit may reach it on any thread.
final class CancelOnDeinit: Sendable {
    private let load = Mutex<ImageLoad?>(nil)

    func set(_ load: ImageLoad?) {
        self.load.withLock { $0 = load }
    }

    func cancel() {
        load.withLock { $0.take() }?.cancel()
    }
}
