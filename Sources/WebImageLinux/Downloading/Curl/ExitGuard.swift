import Glibc
import Synchronization

/// Keeps network threads out of libcurl while the process exits.
///
/// exit(3) runs the exit handlers of TLS libraries, which free what a thread inside libcurl uses. OpenSSL is told to
/// register none (`gwi_curl_initialize`), but ignores that if another library of the app has used it before. A handler
/// of this type runs before those handlers, waits until no thread is inside, and lets none in again.
enum ExitGuard {
    /// A read-write lock, which several threads may use.
    nonisolated(unsafe) private static let lock = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        var attributes = pthread_rwlockattr_t()
        pthread_rwlockattr_init(&attributes)
        // Threads that enter repeatedly must not keep the handler waiting.
        pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        pthread_rwlock_init(lock, &attributes)
        return lock
    }()

    /// The seconds to wait. The process exits even if a closure of the app holds up a network thread.
    private static let longestWait = 2

    /// Enters libcurl. It does not return once the process exits.
    static func enter() {
        while isClosed.load(ordering: .acquiring) { pause() }
        pthread_rwlock_rdlock(lock)
    }

    /// Enters libcurl unless the process exits.
    static func tryEnter() -> Bool { !isClosed.load(ordering: .acquiring) && pthread_rwlock_tryrdlock(lock) == 0 }

    static func leave() { pthread_rwlock_unlock(lock) }

    /// Registers the handler on a thread of the app, before there is a network thread. A handler that a network thread
    /// registers may come too late for an exit that has begun, and OpenSSL 3.6 frees its memory in a destructor, which
    /// runs after all handlers.
    static let registration: Void = register()

    /// Registers the handler again after a library was initialized, so that it runs before the handler of that library.
    /// The calling thread must have entered libcurl.
    static let secondRegistration: Void = register()

    private static func register() {
        // The process has already run its handlers.
        if atexit({ ExitGuard.close() }) != 0 { isClosed.store(true, ordering: .releasing) }
    }

    private static let isClosed = Atomic(false)

    private static func close() {
        // The handler that runs second has nothing left to wait for.
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += longestWait
        pthread_rwlock_timedwrlock(lock, &end)
    }
}
