import Glibc

/// The processor time that the calling thread has taken. Other tests do not change it, unlike the time of the day. With
/// ThreadSanitizer it is a tenth, because the sanitizer makes code several times slower.
package func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    let duration = Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    #if THREAD_SANITIZER
        return duration / 10
    #else
        return duration
    #endif
}
