import Foundation
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

/// The memory of decoders that compose frames on a canvas, and how animations share what there is.
@Suite("The memory of animations")
@MainActor
struct AnimationMemoryTests {
    private nonisolated static let size = PixelSize(width: 16, height: 16)
    private nonisolated static let canvasByteCount = 16 * 16 * 4

    private let clock = ManualPlaybackClock()
    private let frames = AnimationBudget(limit: 1 << 20)
    private let queue = WorkQueue(name: "test-frames", threadCount: 1)
    /// Memory for one canvas.
    private let memory = MemoryBudget(limit: canvasByteCount * 16 / 3 + 16)

    /// Six frames of a tenth of a second, each of which needs those before it.
    private func image() -> WebImage {
        let layouts = (0..<6).map { index in
            FrameLayout(
                rect: PixelRect(x: 0, y: 0, width: index == 0 ? 16 : 8, height: 16),
                duration: .milliseconds(100),
                disposal: .keep,
                isBlended: false,
                hasAlpha: false
            )
        }
        var options = DecodeOptions()
        options.budget = memory
        let animation = ImageAnimation(
            durations: layouts.map(\.duration),
            loopCount: 0,
            size: Self.size,
            hasAlpha: false,
            byteCount: 0
        ) { [options] in
            FrameComposer(
                PlainFrames(),
                layouts,
                size: Self.size,
                target: Self.size,
                orientation: .up,
                options: options
            )
        }
        return WebImage(pixels: PixelBuffer(size: Self.size, format: .rgb) { $0[0] = 0 }!, animation: animation)
    }

    private final class PlainFrames: FrameSource {
        func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
            canvas.pixels[0] = 0xFF00_0000 | UInt32(index)
        }
    }

    private func player(loops: Int = 0) throws -> AnimationPlayer {
        var playback = ImagePlayback()
        playback.loopCount = loops
        return try #require(
            AnimationPlayer(
                image(),
                playback,
                clock: clock,
                queue: queue,
                budget: frames,
                dispatcher: MainQueueDispatcher(),
                wholeByteCount: 0
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

    private func advance(_ seconds: Double) async {
        for _ in 0..<Int(seconds * 20) {
            clock.advance(by: 0.05)
            await settle()
        }
    }

    @Test("An animation that finds no memory for its canvas plays once there is some")
    func waits() async throws {
        // Given an animation that takes the memory of all
        var first: AnimationPlayer? = try player()
        first?.play()
        await settle()
        await advance(0.2)
        #expect(first?.currentFrameIndex == 2 && memory.used.lasting == Self.canvasByteCount)
        // When another one plays
        let second = try player()
        second.play()
        await settle()
        await advance(1)
        // Then it stands still, at no cost,
        #expect(second.currentFrameIndex == 0 && second.isPlaying)
        // And plays once the first one has ended.
        first = nil
        await settle()
        #expect(memory.used.lasting == Self.canvasByteCount)
        await advance(0.35)
        #expect(second.currentFrameIndex > 0)
        let shown = second.currentFrameIndex
        await advance(0.1)
        #expect(second.currentFrameIndex == (shown + 1) % 6)
    }

    @Test("The clock of an animation stands still while it waits for memory, so that one that plays once is seen whole")
    func waitsOnce() async throws {
        // Given an animation that takes the memory of all
        var first: AnimationPlayer? = try player()
        first?.play()
        await settle()
        // When another one plays that ends
        let second = try player(loops: 1)
        let shown = EventLog<Int>()
        second.onFrame = { shown.add($0) }
        second.play()
        await settle()
        await advance(2)
        // Then it has neither ended nor anything to wake up for
        #expect(second.currentFrameIndex == 0 && second.isPlaying && !second.isFinished)
        #expect(memory.lastingWaiterCount == 1 && clock.pendingCount == 1)
        // And it shows all of its frames in their time, once there is memory.
        first = nil
        await settle()
        await advance(0.3)
        #expect(shown.all.count >= 2 && shown.all.count <= 4, "\(shown.all)")
        await advance(0.5)
        #expect(shown.all == [1, 2, 3, 4, 5] && second.isFinished && memory.used.lasting == 0, "\(shown.all)")
    }

    @Test("An animation that is paused or stopped gives its canvas back after ten seconds", arguments: [false, true])
    func paused(isStopped: Bool) async throws {
        let player = try player()
        player.play()
        await settle()
        await advance(0.3)
        #expect(player.currentFrameIndex == 3 && memory.used.lasting == Self.canvasByteCount)
        // For a moment it keeps what it has.
        player.pause()
        await advance(9)
        player.play()
        await settle()
        await advance(11)
        #expect(memory.used.lasting == Self.canvasByteCount)
        if isStopped { player.stop() } else { player.pause() }
        await settle()
        let shown = player.currentFrameIndex
        await advance(10.1)
        #expect(memory.used.lasting == 0 && clock.pendingCount == 0)
        // It goes on where it was.
        #expect(player.currentFrameIndex == shown)
        player.play()
        await settle()
        await advance(0.15)
        #expect(player.currentFrameIndex == (shown + 1) % 6)
        // One that was paused has its frames.
        #expect(memory.used.lasting == (isStopped ? Self.canvasByteCount : 0))
    }

    @Test("An animation gives its canvas back after its last loop, and one that is gone waits for none")
    func ends() async throws {
        let first = try player(loops: 1)
        var second: AnimationPlayer? = try player()
        first.play()
        await settle()
        second?.play()
        await settle()
        await advance(0.2)
        #expect(first.currentFrameIndex == 2 && second?.currentFrameIndex == 0 && memory.lastingWaiterCount == 1)
        second = nil
        #expect(memory.lastingWaiterCount == 0)
        await advance(0.6)
        #expect(first.isFinished && first.currentFrameIndex == 5 && memory.used.lasting == 0)
        // It plays again.
        first.play()
        await settle()
        await advance(0.25)
        #expect(first.currentFrameIndex == 2 && memory.used.lasting == Self.canvasByteCount)
    }

    @Test("A canvas that never fits leaves a still image, and nothing waits")
    func tooLarge() async throws {
        let memory = MemoryBudget(limit: 16)
        var options = DecodeOptions()
        options.budget = memory
        let image = image().with { content in
            content.animation = ImageAnimation(
                durations: [.milliseconds(100), .milliseconds(100)],
                loopCount: 0,
                size: Self.size,
                hasAlpha: false,
                byteCount: 0
            ) { [options] in
                let layout = FrameLayout(
                    rect: PixelRect(x: 0, y: 0, width: 8, height: 8),
                    duration: .milliseconds(100),
                    disposal: .keep,
                    isBlended: false,
                    hasAlpha: false
                )
                return FrameComposer(
                    PlainFrames(),
                    [layout, layout],
                    size: Self.size,
                    target: Self.size,
                    orientation: .up,
                    options: options
                )
            }
        }
        let player = try #require(
            AnimationPlayer(
                image,
                ImagePlayback(),
                clock: clock,
                queue: queue,
                budget: frames,
                dispatcher: MainQueueDispatcher()
            )
        )
        player.play()
        await settle()
        await advance(0.2)
        #expect(player.isFinished && clock.pendingCount == 0)
    }

    @Test("A hidden animation gives back its canvas after ten seconds, and goes on from the frame that it shows")
    func hidden() async throws {
        let player = try player()
        player.play()
        await settle()
        await advance(0.3)
        #expect(player.currentFrameIndex == 3 && memory.used.lasting == Self.canvasByteCount)
        // While it is hidden for a moment only, it keeps what it has.
        player.setVisible(false)
        await advance(9)
        #expect(memory.used.lasting == Self.canvasByteCount)
        player.setVisible(true)
        await advance(11)
        #expect(memory.used.lasting == Self.canvasByteCount)
        player.setVisible(false)
        let shown = player.currentFrameIndex
        let frame = player.currentFrame
        await advance(10.1)
        #expect(memory.used.lasting == 0 && clock.pendingCount == 0)
        #expect(player.currentFrame == frame && player.currentFrameIndex == shown)
        player.setVisible(true)
        await settle()
        await advance(0.15)
        #expect(player.currentFrameIndex == (shown + 1) % 6 && memory.used.lasting == Self.canvasByteCount)
    }

    @Test("Under memory pressure hidden animations give back their canvases at once, and visible ones keep them")
    func pressure() async throws {
        let player = try player()
        player.play()
        await settle()
        await advance(0.3)
        frames.purge()
        await settle()
        #expect(memory.used.lasting == Self.canvasByteCount)
        player.setVisible(false)
        frames.purge()
        await settle()
        #expect(memory.used.lasting == 0 && player.currentFrameIndex == 3)
    }

    @Test("An animation that came late gets its share of the frames decoded ahead")
    func shares() async throws {
        // Given an animation that has filled the budget of twenty frames
        let animation = ManyFrames.animation
        let image = image().with { $0.animation = animation }
        let budget = AnimationBudget(limit: animation.bytesPerFrame * 20)
        func buffer() -> FrameBuffer {
            FrameBuffer(
                image,
                animation,
                queue: queue,
                budget: budget,
                maximumByteCount: .max,
                wholeByteCount: 0
            ) {}
        }
        let wanted = Array(1...30)
        func count(_ buffer: FrameBuffer) -> Int { wanted.count { buffer.frame($0) != nil } }
        let (first, second) = (buffer(), buffer())
        first.request(wanted, shown: nil)
        await settle()
        #expect(count(first) == 22, "\(count(first))")
        // When another one plays as well
        for _ in 0..<4 {
            second.request(wanted, shown: nil)
            await settle()
            first.request(wanted, shown: nil)
            await settle()
        }
        // Then both have half of it, and two frames each that every animation may have.
        #expect(count(second) >= 10 && count(first) >= 10, "\(count(first)), \(count(second))")
        // And a third one that begins during this shortage gets a third.
        let third = buffer()
        for _ in 0..<4 {
            for buffer in [third, first, second] {
                buffer.request(wanted, shown: nil)
                await settle()
            }
        }
        #expect(count(third) >= 6, "\(count(third))")
        #expect(budget.used <= budget.limit)
    }

    @Test("An animation that leaves others their share keeps the frames that it shows next")
    func urgency() async throws {
        let animation = ManyFrames.animation
        let image = image().with { $0.animation = animation }
        let budget = AnimationBudget(limit: animation.bytesPerFrame * 20)
        func buffer() -> FrameBuffer {
            FrameBuffer(
                image,
                animation,
                queue: queue,
                budget: budget,
                maximumByteCount: .max,
                wholeByteCount: .max
            ) {}
        }
        let (first, second) = (buffer(), buffer())
        // Given an animation that keeps all frames and has come to the second half of those for which there is room
        for frames in [Array(1...11), Array(12...22)] {
            first.request(frames, shown: nil)
            await settle()
        }
        #expect((1...22).allSatisfy { first.frame($0) != nil })
        // When another one lacks its share
        second.request(Array(1...22), shown: nil)
        await settle()
        first.request(Array(12...22), shown: nil)
        await settle()
        // Then the frames of the first half go.
        #expect((12...21).allSatisfy { first.frame($0) != nil })
        #expect((3...11).allSatisfy { first.frame($0) == nil })
    }

    /// Forty frames that need no canvas.
    private final class ManyFrames: FrameDecoding {
        static let animation = ImageAnimation(
            durations: Array(repeating: .milliseconds(100), count: 40),
            loopCount: 0,
            size: AnimationMemoryTests.size,
            hasAlpha: false,
            byteCount: 0
        ) { ManyFrames() }

        func frame(at index: Int) throws(ImageError) -> PixelBuffer {
            PixelBuffer(size: AnimationMemoryTests.size, format: .rgb) { $0[0] = 1 }!
        }
    }
}
