import Glibc
import Synchronization

/// Keeps network threads out of libcurl while the process exits.
///
/// exit(3) runs the exit handlers of TLS libraries, which free what a thread inside of libcurl uses. OpenSSL is told to
/// register none (`gwi_curl_initialize`), which it ignores when another library of the app has used it before. A handler
/// of this type runs before theirs, waits until no thread is inside, and lets none in again.
enum ExitGuard {
    /// @unchecked: the lock is made for use by several threads.
    private struct Lock: @unchecked Sendable {
        let pointer = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

        init() {
            var attributes = pthread_rwlockattr_t()
            pthread_rwlockattr_init(&attributes)
            // Threads that enter again and again must not keep the handler waiting.
            pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
            pthread_rwlock_init(pointer, &attributes)
        }
    }

    private static let lock = Lock()

    /// The process exits all the same when a closure of the app holds a network thread up.
    private static let longestWait = 2

    /// Enters libcurl. It does not return once the process exits.
    static func enter() { pthread_rwlock_rdlock(lock.pointer) }

    static func leave() { pthread_rwlock_unlock(lock.pointer) }

    /// Initializes a library between two registrations of the handler: the second one runs before the exit handlers
    /// of the library, and the first one when the process exits meanwhile. Called by a thread that is inside.
    /// Only the first call registers it.
    static func around(_ initialize: () -> Void) {
        isRegistered.withLock { isRegistered in
            if !isRegistered { atexit { ExitGuard.close() } }
            initialize()
            if !isRegistered { atexit { ExitGuard.close() } }
            isRegistered = true
        }
    }

    private static let isRegistered = Mutex(false)
    private static let isClosed = Atomic(false)

    private static func close() {
        // The handler that runs second has nothing left to wait for.
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += longestWait
        pthread_rwlock_timedwrlock(lock.pointer, &end)
    }
}
