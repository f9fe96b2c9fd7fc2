#if THREAD_SANITIZER
    import WebImageCore

    /// ThreadSanitizer does not see the other one; see SanitizerMutex.
    typealias Mutex = SanitizerMutex
#endif
