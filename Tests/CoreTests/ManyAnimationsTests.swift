import Dispatch
import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

/// Pages of animations that do not all fit into the budget as a whole.
@Suite("Many animations at once")
@MainActor
struct ManyAnimationsTests {
    private static let frameCount = 30
    private static let byteCount = 8 * 8 * 3

    private let clock = ManualPlaybackClock()
    private let queue = WorkQueue(name: "test-frames", threadCount: 2)

    private final class Frames: FrameDecoding {
        func frame(at index: Int) throws(ImageError) -> PixelBuffer { ManyAnimationsTests.pixels }
    }

    private nonisolated static var pixels: PixelBuffer {
        PixelBuffer(size: PixelSize(width: 8, height: 8), format: .rgb) { $0[0] = 1 }!
    }

    /// A player of thirty frames of a tenth of a second, which are few enough to be kept for the next loop.
    private func player(_ budget: AnimationBudget) throws -> AnimationPlayer {
        let animation = ImageAnimation(
            durations: Array(repeating: .milliseconds(100), count: Self.frameCount),
            loopCount: 0,
            size: PixelSize(width: 8, height: 8),
            hasAlpha: false,
            byteCount: 0
        ) { Frames() }
        return try #require(
            AnimationPlayer(
                WebImage(pixels: Self.pixels, animation: animation),
                ImagePlayback(),
                clock: clock,
                queue: queue,
                budget: budget,
                dispatcher: MainQueueDispatcher()
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

    /// Plays for some frames, and returns those that each player has shown.
    private func play(_ players: [AnimationPlayer], frames: Int) async -> [[Int]] {
        let seen = players.map { player in
            let log = EventLog<Int>()
            player.onFrame = { log.add($0) }
            return log
        }
        for player in players { player.play() }
        await settle()
        for _ in 0..<frames {
            clock.advance(by: 0.1)
            await settle()
        }
        return seen.map(\.all)
    }

    @Test("Animations that would fill the budget with frames for their next loops show every frame")
    func fills() async throws {
        // Given room for a third of the frames of six animations, each of which would keep all of its own
        let budget = AnimationBudget(limit: 6 * 10 * Self.byteCount)
        let players = try (0..<6).map { _ in try player(budget) }
        // When they play two loops
        let seen = await play(players, frames: 2 * Self.frameCount)
        // Then none of them waits for room.
        let all = (1...2 * Self.frameCount).map { $0 % Self.frameCount }
        for (index, frames) in seen.enumerated() { #expect(frames == all, "\(index)") }
        #expect(budget.used <= budget.limit)
    }

    @Test("Frames that hidden or paused animations keep make room for those of others", arguments: [false, true])
    func hidden(isPaused: Bool) async throws {
        // Given animations that have filled the budget and are hidden, or paused
        let budget = AnimationBudget(limit: 2 * (Self.frameCount - 3) * Self.byteCount)
        let hidden = try (0..<2).map { _ in try player(budget) }
        _ = await play(hidden, frames: Self.frameCount)
        for player in hidden { if isPaused { player.pause() } else { player.setVisible(false) } }
        await settle()
        #expect(budget.used == budget.limit)
        // When another one plays
        let visible = try player(budget)
        let seen = await play([visible], frames: Self.frameCount)
        // Then it shows every frame, and the others go on from theirs.
        #expect(seen == [(1...Self.frameCount).map { $0 % Self.frameCount }])
        for player in hidden { if isPaused { player.play() } else { player.setVisible(true) } }
        let frames = await play(hidden, frames: 3)
        #expect(frames == [[1, 2, 3], [1, 2, 3]])
    }

    @Test("An animation keeps its frames for the next loop again once others have ended")
    func roomAgain() async throws {
        // Given two animations with room for the frames of one
        let budget = AnimationBudget(limit: Self.frameCount * Self.byteCount)
        let first = try player(budget)
        var second: AnimationPlayer? = try player(budget)
        _ = await play([first, try #require(second)], frames: Self.frameCount)
        #expect(budget.used < budget.limit / 2)
        // When one of them ends
        second = nil
        _ = await play([first], frames: Self.frameCount)
        // Then the other one keeps all but those that every animation may keep, and the one that the image holds.
        #expect(budget.used == (Self.frameCount - 3) * Self.byteCount, "\(budget.used / Self.byteCount)")
    }
}
