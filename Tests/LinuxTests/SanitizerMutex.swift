#if THREAD_SANITIZER
    import WebImageCore

    /// ThreadSanitizer does not understand the other implementation; see SanitizerMutex in WebImageCore.
    typealias Mutex = SanitizerMutex
#endif
