import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore

@testable import WebImageCodecs

/// The decoders of players, for files whose frames are decoded in their order only.
@Suite("Frames that are decoded in their order")
struct FrameSequenceTests {
    /// What the decoders of a file do.
    private final class Log: Sendable {
        let decoders = Atomic(0)
        let livingDecoders = Atomic(0)
        let frames = Atomic(0)

        /// The numbers of decoders that were made, of those that are left, and of the frames that they have drawn.
        var counts: [Int] {
            [
                decoders.load(ordering: .relaxed), livingDecoders.load(ordering: .relaxed),
                frames.load(ordering: .relaxed),
            ]
        }
    }

    private final class Decoder {
        private let log: Log
        private var next = 0

        init(_ log: Log) {
            self.log = log
            log.decoders.add(1, ordering: .relaxed)
            log.livingDecoders.add(1, ordering: .relaxed)
        }

        deinit { log.livingDecoders.subtract(1, ordering: .relaxed) }

        func draw(on canvas: FrameCanvas, damaged: Int?) throws(ImageError) {
            guard next != damaged else { throw DecodeOptions().badData("Frame \(next) is damaged") }
            canvas.pixels[0] = 0xFF00_0000 | UInt32(next)
            next += 1
            log.frames.add(1, ordering: .relaxed)
        }
    }

    private let log = Log()

    /// An animation of four frames of one pixel, whose red is the index of the frame.
    private func animation(damaged: Int? = nil) throws -> ImageAnimation {
        let sequence = FrameSequence(
            format: .jpegXL,
            size: PixelSize(width: 1, height: 1),
            durations: Array(repeating: .milliseconds(50), count: 4),
            loopCount: 0,
            hasAlpha: false
        ) { [log] () throws(ImageError) in
            let decoder = Decoder(log)
            return { canvas throws(ImageError) in try decoder.draw(on: canvas, damaged: damaged) }
        }
        return try #require(try sequence.image(Data(), DecodeOptions()).animation)
    }

    private func red(_ pixels: PixelBuffer) -> Int { pixels.withUnsafeBytes { Int($0[0]) } }

    @Test("Two players that take turns decode each frame once")
    func players() throws {
        let animation = try animation()
        #expect(log.counts == [1, 0, 1])
        let players = [animation.makeDecoder(), animation.makeDecoder()]
        for index in 0..<4 {
            for player in players { #expect(red(try player.frame(at: index)) == index) }
        }
        #expect(log.counts == [3, 2, 9])
        // One of them starts over, and the other one stays.
        #expect(red(try players[0].frame(at: 1)) == 1)
        #expect(red(try players[1].frame(at: 3)) == 3)
        #expect(log.counts == [4, 2, 11])
        #expect(red(try players[0].frame(at: 3)) == 3)
        #expect(log.counts == [4, 2, 13])
    }

    @Test("A frame far ahead is reached in steps, between which a worker serves others")
    func steps() throws {
        let player = try animation().makeInterruptibleDecoder()
        let reached = try (0..<4).map { _ in try player.frame(towards: 3) { true }.index }
        #expect(reached == [0, 1, 2, 3] && log.counts == [2, 1, 5])
    }

    @Test("A player that releases its memory releases its decoder")
    func release() throws {
        let player = try animation().makeInterruptibleDecoder()
        #expect(red(try player.frame(at: 2)) == 2)
        #expect(log.counts == [2, 1, 4])
        player.releaseMemory()
        #expect(log.counts == [2, 0, 4])
        #expect(red(try player.frame(at: 3)) == 3)
        #expect(log.counts == [3, 1, 8])
    }

    @Test("A decoder that has thrown is not used again")
    func damage() throws {
        let player = try animation(damaged: 2).makeDecoder()
        #expect(red(try player.frame(at: 1)) == 1)
        #expect(thrownError { try player.frame(at: 3) }?.code == .badImageData)
        #expect(log.counts == [2, 0, 3])
        #expect(red(try player.frame(at: 0)) == 0)
        #expect(log.counts == [3, 1, 4])
    }
}
