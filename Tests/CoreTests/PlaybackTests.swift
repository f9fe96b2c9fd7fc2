import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Playback")
@MainActor
struct AnimationPlayerTests {
    private let clock = ManualPlaybackClock()
    private let budget = AnimationBudget(limit: 1 << 20)
    private let queue = WorkQueue(name: "test-frames", threadCount: 2)

    private func player(
        _ frames: FakeFrames,
        loops: Int = 0,
        _ settings: ImagePlayback = ImagePlayback(),
        wholeByteCount: Int = 0,
        isPartial: Bool = false
    ) throws -> AnimationPlayer {
        try #require(
            AnimationPlayer(
                frames.image(loopCount: loops).with { $0.isPartial = isPartial },
                settings,
                clock: clock,
                queue: queue,
                budget: budget,
                dispatcher: MainQueueDispatcher(),
                wholeByteCount: wholeByteCount
            )
        )
    }

    /// Waits until the queue is idle and its callbacks have run.
    private func settle() async {
        for _ in 0..<3 {
            while queue.pendingCount > 0 { await Task.yield() }
            await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        }
    }

    private func advance(_ seconds: Double, by step: Double = 0.05) async {
        var left = seconds
        while left > 1e-9 {
            clock.advance(by: min(step, left))
            left -= step
            await settle()
        }
    }

    @Test("A handler that jumps to another frame is not overtaken by the update that called it")
    func jumpInHandler() async throws {
        let frames = FakeFrames(count: 40)
        let player = try player(frames)
        player.pause()
        await settle()
        player.onFrame = { [unowned player] index in if index == 10 { player.seek(to: 30) } }
        player.seek(to: 10)
        await settle()
        #expect(player.currentFrameIndex == 30)
        // While it plays, time goes on from there, once.
        var shown: [Int] = []
        player.onFrame = { [unowned player] index in
            shown.append(index)
            if index == 32 { player.seek(to: 5) }
        }
        player.play()
        await advance(0.35)
        #expect(shown == [31, 32, 5, 6] || shown == [31, 32, 5])
    }

    @Test("A still image has no player")
    func still() {
        let image = WebImage(pixels: FakeFrames.pixels(0))
        #expect(
            AnimationPlayer(
                image,
                ImagePlayback(),
                clock: clock,
                queue: queue,
                budget: budget,
                dispatcher: MainQueueDispatcher()
            ) == nil
        )
    }

    @Test("Each frame is shown at its time with one wake-up, and the loops are counted")
    func plays() async throws {
        let player = try player(FakeFrames(count: 4), loops: 2)
        var seen: [Int] = []
        var loops: [Int] = []
        player.onFrame = { seen.append($0) }
        player.onLoop = { loops.append($0) }
        player.play()
        await settle()
        #expect(player.currentFrameIndex == 0 && player.isPlaying)
        await advance(0.75)
        #expect(seen == [1, 2, 3, 0, 1, 2, 3] && loops == [1])
        #expect(FakeFrames.number(player.currentFrame) == 3)
        await advance(0.2)
        #expect(player.isFinished && !player.isPlaying && loops == [1, 2] && player.currentFrameIndex == 3)
        #expect(clock.pendingCount == 0 && clock.wakeups <= 8)
        // The animation plays once more from the start.
        player.play()
        await advance(0.1)
        #expect(player.currentFrameIndex == 1 && player.currentLoop == 0)
    }

    @Test("Late frames are skipped, and the timeline does not drift")
    func skips() async throws {
        let player = try player(FakeFrames(count: 10))
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        await settle()
        await advance(0.1)
        clock.stall(for: 0.5)
        clock.advance(by: 0.01)
        await settle()
        // After 0.61 s frame 6 is due, whatever was missed.
        #expect(seen == [1, 6] || seen == [1, 2, 6] || seen.last == 6, "\(seen)")
        await advance(0.1)
        #expect(player.currentFrameIndex == 7)
    }

    @Test("When decoding is too slow, the newest decoded frame is shown and playback continues")
    func slowDecoder() async throws {
        let frames = FakeFrames(count: 50)
        let gate = Gate()
        frames.beforeEach = { gate.wait() }
        let player = try player(frames)
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        for _ in 0..<8 {
            gate.close()
            clock.advance(by: 0.25)
            gate.open()
            await settle()
        }
        #expect(seen.count >= 7 && seen == seen.sorted(), "\(seen)")
        #expect(player.currentFrameIndex >= 17, "\(player.currentFrameIndex)")
    }

    @Test("Pausing, resuming, stopping, seeking and stepping")
    func controls() async throws {
        let player = try player(FakeFrames(count: 5))
        player.play()
        await settle()
        await advance(0.25)
        player.pause()
        #expect(player.currentFrameIndex == 2 && clock.pendingCount == 0)
        await advance(1)
        #expect(player.currentFrameIndex == 2)
        player.play()
        await advance(0.05)
        #expect(player.currentFrameIndex == 3, "half of the frame was over")
        player.pause()
        player.seek(to: 4)
        await settle()
        #expect(player.currentFrameIndex == 4 && FakeFrames.number(player.currentFrame) == 4)
        player.step()
        await settle()
        #expect(player.currentFrameIndex == 0)
        player.step()
        player.step(by: -3)
        await settle()
        #expect(player.currentFrameIndex == 3)
        player.seek(to: 99)
        #expect(player.currentFrameIndex == 3)
        player.stop()
        await settle()
        #expect(player.currentFrameIndex == 0 && !player.isPlaying)
        player.seek(to: 3)
        player.stop()
        player.step()
        await settle()
        #expect(player.currentFrameIndex == 1)
    }

    @Test("A change of the rate or the direction during playback continues from the current frame")
    func settings() async throws {
        let player = try player(FakeFrames(count: 10))
        player.play()
        await settle()
        await advance(0.2)
        #expect(player.currentFrameIndex == 2)
        player.playback.rate = 2
        await advance(0.1)
        #expect(player.currentFrameIndex == 4)
        player.playback.rate = 0
        await advance(1)
        #expect(player.currentFrameIndex == 4 && clock.pendingCount == 0)
        player.playback.rate = 1
        player.playback.mode = .reverse
        await settle()
        #expect(player.currentFrameIndex == 4)
        await advance(0.2)
        #expect(player.currentFrameIndex == 2)
        player.playback.loopCount = 1
        await advance(2)
        #expect(player.isFinished && player.currentFrameIndex == 0)
    }

    @Test(
        "Playback takes every rate, as it eases to a stop or comes from a file of settings",
        arguments: [1e-300, .leastNonzeroMagnitude, 1e-9, 1e300, .infinity, -1, -.infinity, .nan]
    )
    func rates(rate: Double) async throws {
        let player = try player(FakeFrames(count: 10))
        player.play()
        await settle()
        player.playback.rate = rate
        await advance(0.2)
        clock.stall(for: 1e12)
        await advance(0.1)
        #expect((0..<10).contains(player.currentFrameIndex))
        player.pause()
        player.playback.rate = 1
        player.play()
        await advance(0.2)
        #expect(player.isPlaying)
    }

    @Test("Reverse playback decodes frames in runs, not each from the start")
    func reverse() async throws {
        let frames = FakeFrames(count: 40)
        let player = try player(frames, ImagePlayback(mode: .reverse))
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        await settle()
        await advance(2)
        #expect(seen.count >= 15 && seen == seen.sorted(by: >), "\(seen)")
        let seeks = zip(frames.decoded, frames.decoded.dropFirst()).count { $1 != $0 + 1 }
        #expect(seeks * 3 < frames.decoded.count, "\(seeks) of \(frames.decoded.count)")
    }

    @Test("A damaged frame ends the animation before it")
    func damaged() async throws {
        let frames = FakeFrames(count: 6)
        frames.damagedFrom = 3
        let player = try player(frames)
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        await settle()
        await advance(1)
        #expect(Set(seen) == [0, 1, 2] && seen.count >= 7 && player.currentLoop > 0, "\(seen)")
    }

    @Test("A frame that the system keeps from being decoded for a moment does not end the animation")
    func passingFailure() async throws {
        let frames = FakeFrames(count: 4)
        frames.unavailableDecodes = 1
        let player = try player(frames)
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        // The frame is tried again after a second.
        #expect(await polled { frames.decoded.count > 1 })
        await settle()
        await advance(1)
        #expect(Set(seen).isSuperset(of: [1, 2, 3]) && player.currentLoop > 0, "\(seen)")
    }

    @Test("Steps wrap around at the last intact frame")
    func stepsOfDamaged() async throws {
        let frames = FakeFrames(count: 6)
        frames.damagedFrom = 3
        let player = try player(frames)
        player.play()
        await settle()
        await advance(1)
        player.stop()
        await settle()
        player.step(by: -1)
        await settle()
        #expect(player.currentFrameIndex == 2)
        player.step()
        await settle()
        #expect(player.currentFrameIndex == 0)
    }

    private func polled(_ condition: @escaping @Sendable () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: EventLog<Int>.poll(until: condition)) }
        }
    }

    @Test("Off screen an animation pauses, releases its frames and later continues from the same frame")
    func hidden() async throws {
        let player = try player(FakeFrames(count: 30))
        player.play()
        await settle()
        await advance(0.3)
        #expect(budget.used > 0)
        player.setVisible(false)
        #expect(clock.pendingCount == 0 && budget.used == 0)
        await advance(3)
        #expect(player.currentFrameIndex == 3)
        player.setVisible(true)
        await settle()
        await advance(0.1)
        #expect(player.currentFrameIndex == 4)
    }

    @Test("A small animation is decoded once and kept; a large one stays within the shared budget")
    func buffers() async throws {
        let small = FakeFrames(count: 8)
        let first = try player(small, wholeByteCount: 1 << 20)
        first.play()
        await settle()
        await advance(3)
        #expect(small.decoded.count == 7, "all but the first: \(small.decoded.count)")
        let many = try (0..<50).map { _ in try player(FakeFrames(count: 100, size: PixelSize(width: 64, height: 64))) }
        for player in many { player.play() }
        await settle()
        await advance(0.5, by: 0.1)
        #expect(budget.used <= budget.limit && budget.used > budget.limit / 2, "\(budget.used)")
        #expect(many.allSatisfy { $0.currentFrameIndex == 5 })
        // Under memory pressure all of it goes at once, and everything plays on.
        budget.purge()
        #expect(budget.used == 0, "\(budget.used)")
        await advance(0.1)
        #expect(many.allSatisfy { $0.currentFrameIndex == 6 } && budget.used > 0)
        for player in many { player.setVisible(false) }
        first.setVisible(false)
        await settle()
        #expect(budget.used <= small.decoded.count * 64 * 4)
    }

    @Test("Memory pressure frees the frames of small animations that are paused, finished or hidden, which go on later")
    func pressure() async throws {
        let players = try [1, 0, 0].map { try player(FakeFrames(count: 8), loops: $0, wholeByteCount: 1 << 20) }
        let (finished, paused, hidden) = (players[0], players[1], players[2])
        for player in players { player.play() }
        await settle()
        // Given a loop of each of them
        await advance(1)
        paused.pause()
        hidden.setVisible(false)
        await settle()
        #expect(finished.isFinished && budget.used == 3 * 5 * FakeFrames.byteCount, "\(budget.used)")
        #expect(clock.pendingCount == 0)
        let shown = players.map(\.currentFrame)
        // When memory is short
        budget.purge()
        // Then only the frames on display are left
        #expect(budget.used == 0 && players.map(\.currentFrame) == shown)
        let indices = [paused.currentFrameIndex, hidden.currentFrameIndex]
        #expect(finished.currentFrameIndex == 7 && indices == [2, 2])
        // And all go on from there.
        finished.play()
        paused.play()
        hidden.setVisible(true)
        await settle()
        await advance(0.15)
        #expect(players.map(\.currentFrameIndex) == [1, 3, 3])
    }

    @Test("The budget of a single animation is kept")
    func ownLimit() async throws {
        var settings = ImagePlayback()
        settings.maximumBufferByteCount = 3 * FakeFrames.byteCount
        let player = try player(FakeFrames(count: 60), settings)
        player.play()
        await settle()
        await advance(0.5)
        #expect(budget.used <= 3 * FakeFrames.byteCount && player.currentFrameIndex == 5)
    }

    @Test("A partial animation waits at its last frame, continues with the next ones and never goes back")
    func arriving() async throws {
        // Given three of eight frames whose end was noticed late
        let part = try player(FakeFrames(count: 3), isPartial: true)
        part.play()
        await settle()
        await advance(0.25)
        clock.stall(for: 5)
        await advance(1)
        #expect(part.isFinished && part.currentFrameIndex == 2)
        // When all frames have arrived but are not decoded yet
        let frames = FakeFrames(count: 8)
        let gate = Gate()
        gate.close()
        frames.beforeEach = { gate.wait() }
        var seen: [Int] = []
        part.onFrame = { seen.append($0) }
        part.show(frames.image(loopCount: 0))
        // Then the current frame stays
        #expect(part.currentFrameIndex == 2 && FakeFrames.number(part.currentFrame) == 2 && seen.isEmpty)
        // And the next frames follow
        gate.open()
        await settle()
        await advance(0.55)
        #expect(seen == [3, 4, 5, 6, 7, 0], "\(seen)")
        #expect(part.currentLoop == 1)
    }

    @Test(
        "A mode that is set before playback begins plays from the first frame in its order",
        arguments: [
            ImagePlayback.Mode.bounce: [0, 1, 2, 3, 2, 1], .reverse: [3, 2, 1, 0], .reversedBounce: [3, 2, 1, 0, 1, 2],
        ]
    )
    func modeBeforeStart(mode: ImagePlayback.Mode, order: [Int]) async throws {
        // Given a player that was never started
        let player = try player(FakeFrames(count: 4), loops: 1)
        await settle()
        // When its mode is set, and it plays
        player.playback.mode = mode
        await settle()
        var seen = [player.currentFrameIndex]
        player.onFrame = { seen.append($0) }
        player.play()
        await settle()
        await advance(1)
        // Then it plays each frame of a loop
        #expect(Array(seen.prefix(order.count)) == order, "\(seen)")
    }

    @Test("A player that is released frees its frames")
    func gone() async throws {
        var player: AnimationPlayer? = try player(FakeFrames(count: 30))
        player?.play()
        await settle()
        #expect(budget.used > 0)
        player = nil
        await settle()
        #expect(budget.used == 0)
        clock.advance(by: 1)
    }
}

extension ImagePlayback {
    fileprivate init(mode: Mode) {
        self.init()
        self.mode = mode
    }
}

/// Frames whose pixels hold their index, each a tenth of a second long.
private final class FakeFrames: FrameDecoding, @unchecked Sendable {
    // @unchecked: mutable state is behind the lock or set before the frames are used.
    private let lock = NSLock()
    private var order: [Int] = []
    private let count: Int
    private let size: PixelSize
    var damagedFrom = Int.max
    /// How many decodes fail because there is no decoder.
    var unavailableDecodes = 0
    var beforeEach: @Sendable () -> Void = {}

    static let byteCount = 8 * 8 * 3

    init(count: Int, size: PixelSize = PixelSize(width: 8, height: 8)) {
        self.count = count
        self.size = size
    }

    /// The indices of the decoded frames, in order.
    var decoded: [Int] { lock.withLock { order } }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        beforeEach()
        let isUnavailable = lock.withLock {
            order.append(index)
            return order.count <= unavailableDecodes
        }
        guard !isUnavailable else {
            throw ImageError(.decoderUnavailable, url: nil, reason: "There is no decoder", remedy: "None.")
        }
        guard index < damagedFrom else {
            throw ImageError(.badImageData, url: nil, reason: "It is damaged", remedy: "None.")
        }
        return Self.pixels(index, size)
    }

    func image(loopCount: Int) -> WebImage {
        let animation = ImageAnimation(
            durations: Array(repeating: .milliseconds(100), count: count),
            loopCount: loopCount,
            size: size,
            hasAlpha: false,
            byteCount: 0
        ) { self }
        return WebImage(pixels: Self.pixels(0, size), animation: animation)
    }

    static func pixels(_ number: Int, _ size: PixelSize = PixelSize(width: 8, height: 8)) -> PixelBuffer {
        PixelBuffer(size: size, format: .rgb) { memory in
            for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: number) }
        }!
    }

    static func number(_ image: WebImage) -> Int { image.pixels.withUnsafeBytes { Int($0[0]) } }
}
