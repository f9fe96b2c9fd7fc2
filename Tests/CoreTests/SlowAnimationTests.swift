import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

/// Animations that are decoded more slowly than they play. Decoding takes time of the manual clock.
@Suite("Animations that decode slowly")
@MainActor
struct SlowAnimationTests {
    /// How a frame depends on the one before it.
    enum Kind: CaseIterable {
        case dependent
        case independent
    }

    private let clock = ManualPlaybackClock()
    private let budget = AnimationBudget(limit: 1 << 20)
    private let queue = WorkQueue(name: "test-frames", threadCount: 1)

    private func player(_ image: WebImage, _ settings: ImagePlayback = ImagePlayback()) throws -> AnimationPlayer {
        try #require(
            AnimationPlayer(
                image,
                settings,
                clock: clock,
                queue: queue,
                budget: budget,
                dispatcher: MainQueueDispatcher(),
                wholeByteCount: 0,
                longestStep: .zero
            )
        )
    }

    /// Waits until the queue is idle or at the turnstile, and its callbacks have run.
    private func settle(_ frames: SlowFrames) async {
        for _ in 0..<3 {
            while queue.pendingCount > 0, !frames.turnstile.isOccupied { await Task.yield() }
            await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        }
    }

    /// Lets time pass, in which each frame takes a while to decode.
    private func advance(_ seconds: Double, _ frames: SlowFrames, perFrame: Double) async {
        var left = seconds
        while left > 1e-9 {
            await settle(frames)
            let step = min(0.002, left)
            left -= step
            clock.advance(by: step)
            guard frames.turnstile.isOccupied else { continue }
            let start = frames.startOfFrame ?? clock.now
            frames.startOfFrame = start
            guard clock.now >= start + perFrame else { continue }
            frames.startOfFrame = nil
            frames.turnstile.admit()
        }
        await settle(frames)
    }

    @Test(
        "Frames appear at the pace at which they are decoded, in order and to the end of each loop",
        arguments: [(24, 20), (45, 40), (110, 100), (150, 100)],
        Kind.allCases
    )
    func pace(times: (decoding: Int, playing: Int), kind: Kind) async throws {
        let frames = SlowFrames(count: 30, kind, .milliseconds(times.playing))
        let player = try player(frames.image())
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        let decoding = Double(times.decoding) / 1000
        await advance(60 * decoding, frames, perFrame: decoding)
        #expect(seen.count >= 45, "\(seen.count) frames: \(seen)")
        let steps = zip(seen, seen.dropFirst())
        #expect(steps.allSatisfy { $1 > $0 || $1 <= 2 }, "\(seen)")
        // Frames that build on each other are all decoded, so all are seen.
        if kind == .dependent { #expect(Set(seen).count == 30, "\(Set(0..<30).subtracting(seen))") }
        #expect(player.currentLoop >= 1)
        player.stop()
        frames.turnstile.open()
    }

    @Test("A decoder many times too slow shows every frame that it makes", arguments: Kind.allCases)
    func verySlow(kind: Kind) async throws {
        let frames = SlowFrames(count: 12, kind, .milliseconds(20))
        let player = try player(frames.image())
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        await advance(4, frames, perFrame: 0.2)
        #expect(seen.count >= 15, "\(seen)")
        player.stop()
        frames.turnstile.open()
    }

    @Test("A pause and an invisible widget end the decoding within a frame", arguments: [true, false])
    func pauses(isPause: Bool) async throws {
        let frames = SlowFrames(count: 200, .dependent, .milliseconds(20))
        let player = try player(frames.image())
        player.play()
        await advance(2, frames, perFrame: 0.1)
        let (shown, drawn) = (player.currentFrameIndex, frames.drawnCount)
        #expect(shown > 10)
        if isPause { player.pause() } else { player.setVisible(false) }
        await advance(5, frames, perFrame: 0.1)
        // The frame in the making, and after a pause the next one, ready for a step
        #expect(frames.drawnCount - drawn <= 3, "\(frames.drawnCount - drawn) frames")
        #expect(player.currentFrameIndex == shown)
        // Playback continues from there.
        if isPause { player.play() } else { player.setVisible(true) }
        await advance(1, frames, perFrame: 0.1)
        #expect(player.currentFrameIndex > shown && player.currentFrameIndex < shown + 15)
        player.stop()
        frames.turnstile.open()
    }

    @Test("A jump ahead arrives, however long the frames on the way take")
    func jump() async throws {
        let frames = SlowFrames(count: 100, .dependent, .milliseconds(20))
        let player = try player(frames.image())
        player.play()
        await advance(0.2, frames, perFrame: 0.05)
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.seek(to: 60)
        await advance(4, frames, perFrame: 0.05)
        #expect(seen.first == 60 && seen.count > 5, "\(seen)")
        player.stop()
        frames.turnstile.open()
    }

    @Test("An animation that decodes slowly leaves the thread to another one after each frame")
    func fairness() async throws {
        let slow = SlowFrames(count: 100, .dependent, .milliseconds(20))
        let quick = SlowFrames(count: 10, .independent, .milliseconds(100))
        quick.turnstile.open()
        let (first, second) = (try player(slow.image()), try player(quick.image()))
        var seen = 0
        second.onFrame = { _ in seen += 1 }
        first.play()
        second.play()
        // The quick one wants 30 frames, and the slow one holds the only thread most of the time.
        await advance(3, slow, perFrame: 0.1)
        #expect(seen >= 25, "\(seen) frames")
        first.stop()
        second.stop()
        slow.turnstile.open()
    }

    @Test("A player that is released during a long jump ends it")
    func released() async throws {
        let frames = SlowFrames(count: 500, .dependent, .milliseconds(20))
        var player: AnimationPlayer? = try player(frames.image())
        player?.seek(to: 499)
        await advance(1, frames, perFrame: 0.1)
        let drawn = frames.drawnCount
        player = nil
        frames.turnstile.open()
        while queue.pendingCount > 0 { await Task.yield() }
        #expect(frames.drawnCount - drawn <= 2)
        #expect(budget.used == 0)
    }
}

/// Lets a thread pass each time a test admits one.
private final class Turnstile: @unchecked Sendable {
    // The state is accessed only with the condition locked.
    private let condition = NSCondition()
    private var admitted = 0
    private var waiting = 0
    private var isOpen = false

    var isOccupied: Bool { condition.withLock { waiting > admitted } }

    func pass() {
        condition.withLock {
            guard !isOpen else { return }
            waiting += 1
            while admitted == 0, !isOpen { condition.wait() }
            admitted = max(admitted - 1, 0)
            waiting -= 1
        }
    }

    func admit() {
        condition.withLock {
            admitted += 1
            condition.signal()
        }
    }

    func open() {
        condition.withLock {
            isOpen = true
            condition.broadcast()
        }
    }
}

/// Frames of a composed animation, each of which waits at a turnstile.
private final class SlowFrames: FrameSource, @unchecked Sendable {
    // Only the main thread uses startOfFrame; the count is behind the lock.
    let turnstile = Turnstile()
    var startOfFrame: Double?
    private let lock = NSLock()
    private var drawn = 0
    private let layouts: [FrameLayout]
    private static let size = PixelSize(width: 4, height: 4)

    init(count: Int, _ kind: SlowAnimationTests.Kind, _ duration: Duration) {
        layouts = (0..<count).map { index in
            // A frame that does not cover the canvas needs those before it.
            let width = kind == .independent || index == 0 ? Self.size.width : 2
            return FrameLayout(
                rect: PixelRect(x: 0, y: 0, width: width, height: Self.size.height),
                duration: duration,
                disposal: .keep,
                isBlended: false,
                hasAlpha: false
            )
        }
    }

    var drawnCount: Int { lock.withLock { drawn } }

    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
        turnstile.pass()
        lock.withLock { drawn += 1 }
        let rect = layouts[index].rect
        for y in 0..<rect.size.height {
            for x in 0..<rect.size.width { canvas.row(y, of: rect)[x] = 0xFF00_0000 | UInt32(index) }
        }
    }

    func image() -> WebImage {
        let layouts = layouts
        let animation = ImageAnimation(
            durations: layouts.map(\.duration),
            loopCount: 0,
            size: Self.size,
            hasAlpha: false,
            byteCount: 0
        ) {
            FrameComposer(
                self,
                layouts,
                size: Self.size,
                target: Self.size,
                orientation: .up,
                options: DecodeOptions()
            )
        }
        let pixels = PixelBuffer(size: Self.size, format: .rgb) { memory in
            for index in memory.indices { memory[index] = 0 }
        }
        return WebImage(pixels: pixels!, animation: animation)
    }
}
