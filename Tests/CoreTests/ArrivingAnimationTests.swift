import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

/// Animations that play while more of their frames arrive.
@Suite("Animations that arrive")
@MainActor
struct ArrivingAnimationTests {
    private nonisolated static let size = PixelSize(width: 4, height: 4)
    private nonisolated static let frameCount = 40

    private let clock = ManualPlaybackClock()
    private let budget = AnimationBudget(limit: 1 << 20)
    private let queue = WorkQueue(name: "test-frames", threadCount: 1)
    private let drawn = DrawnFrames()

    /// Frames each of which changes one pixel of those before, and which count how often they are drawn.
    private final class DrawnFrames: FrameSource {
        private let indices = Mutex<[Int]>([])

        var all: [Int] { indices.withLock { $0 } }

        func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
            indices.withLock { $0.append(index) }
            canvas.pixels[index % ArrivingAnimationTests.size.pixelCount] = 0xFF00_0000 | UInt32(index)
        }
    }

    /// The first frames of a file.
    private func image(
        _ count: Int,
        of arrival: ArrivingAnimation?,
        restoring restored: Set<Int> = [],
        orientation: ImageOrientation = .up
    ) throws -> WebImage {
        let layouts = (0..<count).map { index in
            FrameLayout(
                rect: PixelRect(x: 0, y: 0, width: index == 0 ? 4 : 3, height: 4),
                duration: .milliseconds(100),
                disposal: restored.contains(index) ? .restore : .keep,
                isBlended: false,
                hasAlpha: false
            )
        }
        return try WebImage(
            animated: drawn,
            layouts: layouts,
            size: Self.size,
            orientation: orientation,
            loopCount: 0,
            format: .gif,
            data: Data(),
            isArriving: true,
            arrival: arrival,
            options: DecodeOptions()
        ).with { $0.isPartial = true }
    }

    private func player(_ image: WebImage, wholeByteCount: Int) throws -> AnimationPlayer {
        try #require(
            AnimationPlayer(
                image,
                ImagePlayback(),
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

    @Test("A frame is decoded once, however often an animation grows while it plays", arguments: [0, 1 << 20])
    func grows(wholeByteCount: Int) async throws {
        // Given an animation of which a frame arrives in the time of a frame
        let arrival = ArrivingAnimation()
        let player = try player(image(2, of: arrival), wholeByteCount: wholeByteCount)
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.play()
        await settle()
        for count in 3...Self.frameCount {
            player.show(try image(count, of: arrival))
            await settle()
            clock.advance(by: 0.1)
            await settle()
        }
        // Then it shows each of them,
        for _ in 0..<3 {
            clock.advance(by: 0.1)
            await settle()
        }
        #expect(Array(seen.prefix(Self.frameCount - 1)) == Array(1..<Self.frameCount), "\(seen)")
        // And has drawn each of them once, but for the first one, which every image holds.
        #expect(drawn.all.filter { $0 > 0 } == Array(1..<Self.frameCount), "\(drawn.all.count) draws")
        #expect(drawn.all.count { $0 == 0 } == Self.frameCount)
        #expect(!player.currentFrame.isPartial)
    }

    @Test("A frame is decoded once, too, where frames arrive more slowly than they play")
    func growsSlowly() async throws {
        // Given
        let arrival = ArrivingAnimation()
        let player = try player(image(2, of: arrival), wholeByteCount: 0)
        player.play()
        await settle()
        // When
        for count in 3...Self.frameCount {
            clock.advance(by: 0.5)
            await settle()
            #expect(player.isFinished)
            player.show(try image(count, of: arrival))
            await settle()
        }
        clock.advance(by: 0.5)
        await settle()
        // Then
        #expect(player.currentFrameIndex == Self.frameCount - 1)
        #expect(drawn.all.filter { $0 > 0 } == Array(1..<Self.frameCount), "\(drawn.all.count) draws")
    }

    @Test("A frame that is shown when more arrive stays, and those decoded ahead are used")
    func keepsFrames() async throws {
        // Given an animation that has all of its frames decoded and shows the third of them
        let arrival = ArrivingAnimation()
        let player = try player(image(6, of: arrival), wholeByteCount: 0)
        player.play()
        await settle()
        for _ in 0..<2 {
            clock.advance(by: 0.1)
            await settle()
        }
        let shown = player.currentFrame
        let longer = try image(Self.frameCount, of: arrival)
        let draws = drawn.all.count
        // When it grows, and nothing can be decoded
        let gate = Gate()
        gate.close()
        queue.submit { gate.wait() }
        player.show(longer)
        // Then the frame stays, and the next ones follow.
        #expect(player.currentFrame == shown && player.currentFrameIndex == 2)
        clock.advance(by: 0.3)
        #expect(player.currentFrameIndex == 5 && drawn.all.count == draws)
        gate.open()
        await settle()
    }

    @Test("The frames of another file, of another orientation or of more pixels are decoded anew")
    func otherFrames() async throws {
        let arrival = ArrivingAnimation()
        let first = try #require(try image(6, of: arrival).animation)
        for other in [
            try image(8, of: ArrivingAnimation()), try image(8, of: nil),
            try image(8, of: arrival, orientation: .down), try image(4, of: arrival),
        ] {
            let animation = try #require(other.animation)
            #expect(!animation.continues(first))
        }
        let longer = try #require(try image(8, of: arrival).animation)
        #expect(longer.continues(first))
        #expect(longer.mapFrames { $0 }.continues(first.mapFrames { $0 }) && !longer.mapFrames { $0 }.continues(first))
    }

    @Test("A decoder that lacks memory for what is beneath a later frame starts over, and draws the same")
    func restores() async throws {
        let arrival = ArrivingAnimation()
        let (short, long) = (
            try #require(try image(6, of: arrival).animation),
            try #require(try image(12, of: arrival, restoring: [8]).animation)
        )
        let (before, after) = (short.makeDecoder(), long.makeInterruptibleDecoder())
        _ = try before.frame(at: 5)
        after.takeOver(from: before)
        #expect(try bytes(after, 11) == bytes(long.makeDecoder(), 11))
        #expect(try bytes(before, 5) == bytes(short.makeDecoder(), 5))
    }

    private func bytes(_ decoder: any FrameDecoding, _ index: Int) throws -> [UInt8] {
        try decoder.frame(at: index).withUnsafeBytes { Array($0) }
    }
}
