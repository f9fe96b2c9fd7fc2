#if THREAD_SANITIZER
    import Glibc

    /// The replacement of Mutex in `THREAD_SANITIZER=1 swift test --sanitize=thread`.
    ///
    /// ThreadSanitizer knows the locks of pthreads but not those of Synchronization on Linux, and reports every access
    /// behind them as a race. Each module declares a typealias to this type in that build only.
    ///
    /// @unchecked: the value is only accessed while the lock is held.
    package struct SanitizerMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        package init(_ initialValue: consuming sending Value) {
            lock = .allocate(capacity: 1)
            pthread_mutex_init(lock, nil)
            value = .allocate(capacity: 1)
            value.initialize(to: initialValue)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }

        package borrowing func withLock<Result: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending Result
        ) throws(E) -> sending Result {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return try body(&value.pointee)
        }
    }

    typealias Mutex = SanitizerMutex
#endif
