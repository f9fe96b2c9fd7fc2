/// The times of consecutive frames.
struct FrameTimes {
    /// The frames after the first one.
    private(set) var count = 0
    /// The milliseconds of the longest frame.
    private(set) var longest = 0.0
    private var first: Int64?
    private var last: Int64 = 0

    /// The seconds from the first frame to the last.
    var seconds: Double { first.map { Double(last - $0) / 1_000_000 } ?? 0 }
    var framesPerSecond: Double { seconds > 0 ? Double(count) / seconds : 0 }

    /// - Parameter time: The time of a frame in microseconds.
    mutating func add(_ time: Int64) {
        if first == nil {
            first = time
        } else {
            count += 1
            longest = max(longest, Double(time - last) / 1000)
        }
        last = time
    }
}
