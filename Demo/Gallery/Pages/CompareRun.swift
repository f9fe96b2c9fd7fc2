import FoundationEssentials

/// The loads of one side, with a server for them alone, and so a line.
@MainActor
final class CompareRun {
    /// It is slow enough to watch the images come.
    private static let line = LineQuality(latency: 80, bandwidth: 1_000_000, loss: 0.01)

    let server: ImageServer
    let urls: [URL]
    private let start = ContinuousClock.now
    /// How many images have ended, and how many bytes their pixels have.
    private(set) var (endedCount, pixelByteCount) = (0, 0)
    /// The time until the last image.
    private(set) var time = Duration.zero
    /// The milliseconds of the longest frame after images of this side alone; `nil` before the first one.
    private(set) var longestFrame: Double?
    private let ended: () -> Void
    /// How many of the next frames count: the one that an image has delayed, and the one that is late because it was drawn.
    private var countedFrames = 0

    /// - Parameter ended: Called when all images have ended.
    init(_ folder: String, imageCount: Int, ended: @escaping () -> Void) throws {
        self.ended = ended
        server = try ImageServer(folder: folder, count: 0)
        server.line.quality = Self.line
        // Plain GTK reads JPEG.
        let names = server.names.filter { $0.hasSuffix(".jpg") }
        urls = (0..<imageCount).map { [server] in server.url(names[$0 % names.count], serial: $0) }
    }

    var isDone: Bool { endedCount == urls.count }
    /// Whether an image has come shortly before the present frame.
    var countsFrames: Bool { countedFrames > 0 }

    func add(_ byteCount: Int) {
        endedCount += 1
        pixelByteCount += byteCount
        time = start.duration(to: .now)
        countedFrames = 2
        if isDone { ended() }
    }

    /// Counts a frame, if an image has come shortly before it.
    /// - Parameter milliseconds: The time from the frame before to this one; `nil` if it says nothing about this side.
    func addFrame(_ milliseconds: Double?) {
        guard countsFrames else { return }
        countedFrames -= 1
        if let milliseconds { longestFrame = max(longestFrame ?? 0, milliseconds) }
    }
}
