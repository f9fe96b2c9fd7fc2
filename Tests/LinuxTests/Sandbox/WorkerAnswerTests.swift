internal import CWebImageSandboxShims
import Foundation
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux
@testable import WebImageSandbox

/// What the app reads of a worker that somebody else may have taken over.
@Suite("The answers of decode workers")
struct WorkerAnswerTests {
    private let pixels = PixelBuffer(size: PixelSize(width: 20, height: 10), format: .rgb) {
        $0.initializeMemory(as: UInt8.self, repeating: 200)
    }!

    private func message(_ answer: DecodeAnswer) -> [UInt8] { answer.message }

    private func image(
        carrier: WorkerCarrier,
        frameCount: Int = 0,
        frameSize: PixelSize? = nil
    ) -> ImageDescription {
        let animation = ImageAnimation(
            durations: Array(repeating: .seconds(1), count: frameCount),
            loopCount: 3,
            size: frameSize ?? pixels.size,
            hasAlpha: false,
            byteCount: 10
        ) { fatalError() }
        var image = ImageDescription(WebImage(pixels: pixels, animation: frameCount > 1 ? animation : nil))
        image.pixels.carrier = carrier
        return image
    }

    private func read(
        _ bytes: [UInt8],
        file: Int32 = -1,
        memory: [UInt8] = [],
        limit: DecodeAnswer.Limit = DecodeAnswer.Limit(pixelCount: 1 << 27, frameCount: 10_000)
    ) -> (DecodeAnswer, DecodeWorker.Payload?)? {
        bytes.withUnsafeBytes { bytes in
            memory.withUnsafeBytes { try? WorkerAnswer.read(bytes, limit, file: file, memory: $0) }
        }
    }

    @Test("An image in a message arrives with its pixels and durations") func inline() throws {
        var bytes = message(.image(image(carrier: .message, frameCount: 2)))
        pixels.withUnsafeBytes { bytes.append(contentsOf: $0) }
        for duration in [0, 5_000_000_000, -1, -1] as [Int64] {
            withUnsafeBytes(of: duration) { bytes.append(contentsOf: $0) }
        }
        let (answer, payload) = try #require(read(bytes))
        guard case .image(let image) = answer else { return #expect(Bool(false)) }
        #expect(image.animation?.loopCount == 3)
        #expect(payload?.pixels.straightAlpha == pixels.straightAlpha)
        #expect(payload?.durations == [.nanoseconds(5), .zero])
        // One byte less, or one more, is no answer.
        #expect(read(Array(bytes.dropLast())) == nil)
        #expect(read(bytes + [0]) == nil)
    }

    @Test("Pixels count only in a file that can neither change nor shrink, and is large enough") func files() throws {
        let bytes = message(.image(image(carrier: .file)))
        let sealed = pixels.withUnsafeBytes { pixels in
            var part = gwi_bytes(start: pixels.baseAddress, size: pixels.count)
            return gwi_memory_file(&part, 1)
        }
        defer { close(sealed) }
        #expect(read(bytes, file: sealed)?.1?.pixels.straightAlpha == pixels.straightAlpha)
        #expect(read(bytes) == nil)
        let small = pixels.withUnsafeBytes { pixels in
            var part = gwi_bytes(start: pixels.baseAddress, size: pixels.count - 1)
            return gwi_memory_file(&part, 1)
        }
        defer { close(small) }
        #expect(read(bytes, file: small) == nil)
        let directory = TemporaryDirectory()
        let file = directory.path + "/pixels"
        try Data(repeating: 1, count: pixels.byteCount).write(to: URL(filePath: file))
        let plain = open(file, O_RDWR)
        defer { close(plain) }
        #expect(read(bytes, file: plain) == nil)
    }

    @Test("A file with holes is no answer, since reading it would take memory of the app") func holes() throws {
        // The Glibc module lacks the function and its constants.
        typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
        let create = unsafeBitCast(try #require(dlsym(nil, "memfd_create")), to: Create.self)
        let (allowsSealing, addSeals, allSeals) = (UInt32(2), Int32(1033), Int32(15))
        let bytes = message(.image(image(carrier: .file)))
        // One that is a hole, and one with as many blocks behind its first half
        for (length, start) in [(pixels.byteCount, 0), (2 << 20, 1 << 20)] {
            let sparse = create("sparse", allowsSealing)
            defer { close(sparse) }
            #expect(ftruncate(sparse, off_t(length)) == 0)
            if start > 0 {
                let filled = [UInt8](repeating: 1, count: length - start)
                #expect(pwrite(sparse, filled, filled.count, off_t(start)) == filled.count)
            }
            #expect(fcntl(sparse, addSeals, allSeals) == 0)
            #expect(read(bytes, file: sparse) == nil)
        }
    }

    @Test("The frames of an animation have the size of its first image") func frameSize() {
        let memory = pixels.withUnsafeBytes { Array($0) } + [UInt8](repeating: 0, count: 64)
        #expect(read(message(.image(image(carrier: .sharedMemory, frameCount: 3))), memory: memory) != nil)
        let huge = PixelSize(width: 1 << 20, height: 1 << 20)
        let bytes = message(.image(image(carrier: .sharedMemory, frameCount: 3, frameSize: huge)))
        #expect(read(bytes, memory: memory) == nil)
    }

    @Test("Pixels in the shared memory are copied, and none are read behind its end") func sharedMemory() throws {
        let bytes = message(.image(image(carrier: .sharedMemory)))
        var memory = pixels.withUnsafeBytes { Array($0) }
        let (_, payload) = try #require(read(bytes, memory: memory))
        memory[0] = 0
        #expect(payload?.pixels.straightAlpha == pixels.straightAlpha)
        #expect(read(bytes, memory: Array(memory.dropLast())) == nil)
        // Bytes behind the message are no pixels of it.
        #expect(read(bytes + [0], memory: memory) == nil)
    }

    @Test("An answer brings no more pixels and frames than memory was taken for") func limits() {
        let memory = pixels.withUnsafeBytes { Array($0) } + [UInt8](repeating: 0, count: 64)
        let bytes = message(.image(image(carrier: .sharedMemory, frameCount: 3)))
        #expect(read(bytes, memory: memory, limit: .init(pixelCount: 200, frameCount: 3)) != nil)
        #expect(read(bytes, memory: memory, limit: .init(pixelCount: 199, frameCount: 3)) == nil)
        #expect(read(bytes, memory: memory, limit: .init(pixelCount: 200, frameCount: 2)) == nil)
        let frame = message(.frame(index: 0, PixelDescription(pixels)))
        #expect(read(frame + memory.prefix(600), limit: .init(pixelCount: 199, frameCount: 3)) == nil)
        var options = DecodeOptions(maximumPixelCount: 1 << 26)
        options.reservedPixelCount = 1 << 24
        #expect(DecodeAnswer.Limit(options).pixelCount == 1 << 24)
    }

    @Test("A frame has the size and the colours of its animation, and an image those that were asked for") func colors()
    {
        func description(_ colors: PixelBuffer.Colors) -> PixelDescription {
            var description = PixelDescription(pixels)
            description.colors = colors
            return description
        }
        let memory = [UInt8](repeating: 0, count: 2 * pixels.byteCount)
        let (size, wide) = (pixels.size, PixelBuffer.Colors(gamut: .sRGB, isDeep: true))
        func readFrame(_ pixels: PixelDescription, _ size: PixelSize) -> Bool {
            var bytes = message(.frame(index: 0, pixels))
            bytes += memory.prefix(pixels.byteCount)
            return read(bytes, limit: .init(frameSize: size)) != nil
        }
        #expect(readFrame(description(.standard), size))
        #expect(!readFrame(description(wide), size))
        #expect(!readFrame(description(.standard), PixelSize(width: size.height, height: size.width)))
        var image = image(carrier: .sharedMemory)
        image.pixels.colors = wide
        var limit = DecodeAnswer.Limit(pixelCount: 200, frameCount: 0)
        #expect(read(message(.image(image)), memory: memory, limit: limit) == nil)
        limit.allowsWideColors = true
        #expect(read(message(.image(image)), memory: memory, limit: limit) != nil)
    }

    @Test("Sizes that lie are refused") func lyingSizes() {
        for size in [
            PixelSize(width: 0, height: 1), PixelSize(width: -1, height: -1), PixelSize(width: .max, height: .max),
            PixelSize(width: 1 << 21, height: 1), PixelSize(width: 1 << 20, height: 1 << 20),
            PixelSize(width: 21, height: 10),
        ] {
            var lie = image(carrier: .message)
            lie.pixels.size = size
            #expect(read(message(.image(lie)) + [UInt8](repeating: 0, count: pixels.byteCount)) == nil, "\(size)")
        }
        var frames = image(carrier: .message, frameCount: 2)
        for count in [1, -1, .max, 1 << 40] {
            frames.animation?.frameCount = count
            #expect(read(message(.image(frames)) + [UInt8](repeating: 0, count: pixels.byteCount)) == nil, "\(count)")
        }
    }

    @Test("A file is no larger than its header says, either way up, or than any image is") func headerSizes() {
        let memory = [UInt8](repeating: 0, count: pixels.byteCount)
        var limit = DecodeAnswer.Limit(pixelCount: 1 << 27, frameCount: 0)
        func isRead(_ natural: PixelSize, _ source: PixelSize? = nil) -> Bool {
            var image = image(carrier: .sharedMemory)
            (image.naturalSize, image.sourceSize) = (natural, source ?? natural)
            return read(message(.image(image)), memory: memory, limit: limit) != nil
        }
        #expect(isRead(PixelSize(width: 1 << 20, height: 1)) && !isRead(PixelSize(width: 1, height: (1 << 20) + 1)))
        limit.storedSize = PixelSize(width: 64, height: 48)
        #expect(isRead(PixelSize(width: 64, height: 48)) && isRead(PixelSize(width: 48, height: 64)))
        for size in [PixelSize(width: 480, height: 1), PixelSize(width: 64, height: 64)] {
            #expect(!isRead(size) && !isRead(PixelSize(width: 1, height: 1), size))
        }
    }

    @Test("An error of a worker is one of decoding, in one line") func errors() throws {
        func failure(_ reason: String) -> [UInt8] {
            message(.failure(ImageError(.offline, url: nil, reason: reason, remedy: "none")))
        }
        let (answer, _) = try #require(read(failure("\u{1B}[2Jred\nalert")))
        guard case .failure(let read) = answer else { return #expect(Bool(false)) }
        #expect(read.code == .badImageData)
        #expect(read.reason == " [2Jred alert")
        let long = String(repeating: "x", count: 5000)
        guard case .failure(let short)? = self.read(failure(long))?.0 else { return #expect(Bool(false)) }
        #expect(short.reason.count == MessageCoder.longestText)
    }

    @Test("No bytes at all make the app read what is not there") func mutations() {
        var generator = SeededGenerator(seed: 23)
        let inline =
            message(.image(image(carrier: .message, frameCount: 2)))
            + [UInt8](repeating: 9, count: pixels.byteCount + 32)
        let messages = [
            inline, message(.image(image(carrier: .file))), message(.image(image(carrier: .sharedMemory))),
            message(.done), message(.ready([])),
            message(.frame(index: 3, PixelDescription(pixels))) + [UInt8](repeating: 9, count: pixels.byteCount),
            message(.failure(ImageError(.badImageData, url: nil, reason: "reason", remedy: "remedy"))),
        ]
        var acceptedCount = 0
        let memory = [UInt8](repeating: 3, count: pixels.byteCount + 100)
        for _ in 0..<50_000 {
            var bytes = messages.randomElement(using: &generator)!
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                guard !bytes.isEmpty else { break }
                let index = Int.random(in: 0..<min(bytes.count, 160), using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2: bytes.removeSubrange(index...)
                default: bytes.insert(255, at: index)
                }
            }
            guard let (_, payload) = read(bytes, memory: memory) else { continue }
            acceptedCount += 1
            // Each byte that it claims is there.
            if let payload { _ = payload.pixels.withUnsafeBytes { $0.reduce(0) { $0 &+ Int($1) } } }
        }
        #expect(acceptedCount > 100)
    }
}
