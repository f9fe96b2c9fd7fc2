import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Playback of an animation that has finished")
@MainActor
struct FinishedPlaybackTests {
    private let clock = ManualPlaybackClock()
    private let queue = WorkQueue(name: "test-frames", threadCount: 1)

    /// A player of frames of 0.1 s that has played all loops.
    private func finished(loops: Int = 1, _ mode: ImagePlayback.Mode = .normal) async throws -> AnimationPlayer {
        var settings = ImagePlayback()
        settings.mode = mode
        let frames = try (0..<5).map { number in
            let pixels = PixelBuffer(size: PixelSize(width: 2, height: 2), format: .rgb) { memory in
                _ = memory.initializeMemory(as: UInt8.self, repeating: UInt8(number))
            }
            return WebImage(pixels: try #require(pixels))
        }
        let image = try #require(
            WebImage(frames: frames, durations: Array(repeating: .milliseconds(100), count: 5), loopCount: loops)
        )
        let player = try #require(
            AnimationPlayer(
                image,
                settings,
                clock: clock,
                queue: queue,
                budget: AnimationBudget(limit: 1 << 20),
                dispatcher: MainQueueDispatcher()
            )
        )
        _ = await played(player, Double(loops) * 0.8 + 0.2) { player.play() }
        try #require(player.isFinished && player.currentLoop == loops)
        return player
    }

    /// Waits until the queue is idle and its callbacks have run.
    private func settle() async {
        for _ in 0..<3 {
            while queue.pendingCount > 0 { await Task.yield() }
            await withCheckedContinuation { continuation in
                MainQueueDispatcher().dispatch { continuation.resume() }
            }
        }
    }

    /// The frames that become current within a call and in a number of seconds after it.
    private func played(_ player: AnimationPlayer, _ seconds: Double, after call: () -> Void) async -> [Int] {
        var shown: [Int] = []
        player.onFrame = { shown.append($0) }
        call()
        await settle()
        for _ in 0..<Int((seconds / 0.05).rounded()) {
            clock.advance(by: 0.05)
            await settle()
        }
        player.onFrame = nil
        return shown
    }

    @Test("A jump shows the frame, and playback goes on from there in the last loop", arguments: [1, 3])
    func seek(loops: Int) async throws {
        // Given an animation that has ended
        let player = try await finished(loops: loops)
        // When the user moves a slider, then the frame appears, and stays
        #expect(await played(player, 0.5) { player.seek(to: 2) } == [2])
        #expect(!player.isFinished && !player.isPlaying && player.currentLoop == loops - 1)
        // And the rest is played
        #expect(await played(player, 0.5) { player.play() } == [3, 4])
        #expect(player.isFinished && player.currentLoop == loops)
    }

    @Test("Steps move by frames")
    func step() async throws {
        let player = try await finished()
        #expect(await played(player, 0.1) { player.step(by: -1) } == [3])
        #expect(await played(player, 0.1) { player.step(by: 2) } == [0])
        #expect(player.currentLoop == 0)
    }

    @Test("A loop behind the last one is the last one")
    func loop() async throws {
        let player = try await finished(loops: 2)
        #expect(await played(player, 0.1) { player.seek(to: 1, loop: 7) } == [1])
        #expect(player.currentLoop == 1)
    }

    @Test("Another direction goes on at the frame on display")
    func mode() async throws {
        // Given an animation that has ended with its last frame
        let player = try await finished()
        // When it is played backwards
        player.playback.mode = .reverse
        // Then all frames come
        #expect(await played(player, 0.6) { player.play() } == [3, 2, 1, 0])
        #expect(player.isFinished)
    }

    @Test("More loops are those that are left, and with fewer the animation starts over")
    func loopCount() async throws {
        let player = try await finished()
        player.playback.loopCount = 2
        #expect(await played(player, 0.8) { player.play() } == [0, 1, 2, 3, 4])
        #expect(player.isFinished && player.currentLoop == 2)
        player.playback.loopCount = 1
        #expect(player.isFinished)
        #expect(await played(player, 0.6) { player.play() } == [0, 1, 2, 3, 4])
    }

    @Test("One more loop of a bounce is one")
    func oneMoreBounce() async throws {
        let player = try await finished(.bounce)
        player.playback.loopCount = 2
        #expect(await played(player, 2) { player.play() } == [1, 2, 3, 4, 3, 2, 1, 0])
        #expect(player.isFinished && player.currentLoop == 2)
    }

    @Test("A direction that ends with the frame on display starts over")
    func sameEnd() async throws {
        // Given a bounce, which ends with its first frame
        let player = try await finished(.bounce)
        // When it becomes a playback that ends there, too
        player.playback.mode = .reverse
        #expect(player.isFinished)
        // Then it plays from its beginning
        #expect(await played(player, 0.6) { player.play() } == [4, 3, 2, 1, 0])
    }
}
