#if THREAD_SANITIZER
    import WebImageCore

    /// ThreadSanitizer does not know Synchronization.Mutex; see SanitizerMutex.
    typealias Mutex = SanitizerMutex
#endif
