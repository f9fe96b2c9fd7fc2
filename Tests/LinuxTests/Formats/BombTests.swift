import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageFormats
@testable import WebImageLinux

@Suite("Files that are small and decode to much", .blocking, .serialized)
struct BombTests {
    @Test("A small file never takes more than 300 MB", arguments: Bomb.all)
    func memory(bomb: Bomb) throws {
        let (outcome, megabytes, _) = try bomb.explode()
        print("\(bomb): \(megabytes) MB, \(outcome.prefix(150))")
        #expect(megabytes <= 300)
    }

    @Test("A file below the limits takes no more than its decode has reserved", arguments: Bomb.large)
    func reserved(bomb: Bomb) throws {
        var (outcome, megabytes, reserved) = try bomb.explode()
        // The worker looks every now and then at what is reserved, and misses a decode that takes less than a time slice.
        for _ in 0..<4 where megabytes > reserved + 16 { (outcome, megabytes, reserved) = try bomb.explode() }
        print("\(bomb): \(megabytes) MB, \(reserved) MB reserved, \(outcome.prefix(150))")
        #expect(outcome.hasPrefix("image of"))
        #expect(megabytes <= reserved + 16)
    }

    @Test(
        "Chunks that are not used change nothing, however long they are and wherever the file is cut",
        arguments: [1, 7, 1 << 20]
    )
    func unusedChunks(pieces: Int) throws {
        let plain = TestImage.quarters(size: PixelSize(width: 20, height: 20))
        var file = plain.prefix(33)
        for name in ["tEXt", "zTXt", "iTXt", "sPLT", "tIME", "bKGD", "prIv"] {
            file += TestImage.chunk(name, [UInt8](repeating: 65, count: 300))
        }
        file += plain.dropFirst(33)
        let whole = try PNGCoder().decode(file, options: DecodeOptions())
        #expect(whole.color(1, 1) == 0xFF0000 && whole.color(18, 18) == 0xFFFFFF)
        let decoder = try #require(PNGCoder().makeIncrementalDecoder(for: .png, options: DecodeOptions()))
        for offset in stride(from: 0, to: file.count, by: pieces) {
            try decoder.append(Data(file.dropFirst(offset).prefix(pieces)))
        }
        #expect(try decoder.finish(file).color(1, 1) == 0xFF0000)
    }

    @Test("A chunk that nothing can read and the image needs is an error in parts as it is whole")
    func unknownChunk() throws {
        let plain = TestImage.quarters(size: PixelSize(width: 20, height: 20))
        let file = plain.prefix(33) + TestImage.chunk("NEED", [1, 2, 3]) + plain.dropFirst(33)
        #expect(thrownError { try PNGCoder().decode(file, options: DecodeOptions()) }?.code == .badImageData)
        let decoder = try #require(PNGCoder().makeIncrementalDecoder(for: .png, options: DecodeOptions()))
        let error = thrownError { try decoder.append(file) }
        #expect(error?.code == .badImageData && error?.reason.contains("NEED") == true)
    }

    @Test("A JPEG that is damaged stays so: libjpeg is not called again")
    func damagedJPEG() throws {
        let jpeg = TestImage.quarters(size: PixelSize(width: 64, height: 64), format: .jpeg)
        let start = try #require(jpeg.firstRange(of: [0xFF, 0xC0])).lowerBound
        var damaged = jpeg
        // A precision that libjpeg does not have.
        damaged[start + 4] = 99
        let decoder = try #require(JPEGCoder().makeIncrementalDecoder(for: .jpeg, options: DecodeOptions()))
        let first = thrownError { try decoder.append(damaged) }
        #expect(first?.code == .badImageData && first?.reason.contains("99") == true)
        let second = thrownError { try decoder.append(jpeg) }
        #expect(second?.reason == first?.reason)
        #expect(decoder.partialImage() == nil)
    }

    @Test("A frame of a GIF that reaches far beyond the screen ends the animation")
    func framesBeyondScreen() throws {
        func decoder(_ file: Data) throws -> any FrameDecoding {
            try #require(GIFCoder().decode(file, options: DecodeOptions()).animation).makeDecoder()
        }
        let huge = try decoder(Bomb.gif(side: 2100, screen: 1))
        #expect(thrownError { try huge.frame(at: 1) }?.code == .badImageData)
        // A little is common, and cut off.
        let larger = try decoder(Bomb.gif(side: 50, screen: 40)).frame(at: 1)
        #expect(larger.size == PixelSize(width: 40, height: 40))
        #expect(larger.withUnsafeBytes { Array($0.prefix(3)) } == [255, 0, 0])
    }

    @Test("A file that never ends and one above the limit are errors, not waits", .timeLimit(.minutes(5)))
    func unreadableFiles() throws {
        let folder = TemporaryDirectory()
        let pipe = "\(folder.path)/pipe.png"
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(thrownError { try WebImage(contentsOf: URL(filePath: pipe)) }?.code == .unreadable)
        let huge = "\(folder.path)/huge.png"
        try #require(FileManager.default.createFile(atPath: huge, contents: nil))
        try #require(truncate(huge, 1 << 40) == 0)
        let error = thrownError { try WebImage(contentsOf: URL(filePath: huge)) }
        #expect(error?.code == .unreadable && error?.url?.path().hasSuffix("huge.png") == true)
    }

    @Test("A side that is too long is refused before rows are kept, whatever the limit of pixels is")
    func longSides() throws {
        let options = DecodeOptions(maximumPixelCount: .max)
        for size in [PixelSize(width: 1 << 20 + 1, height: 1), PixelSize(width: 1, height: 1 << 20 + 1)] {
            let error = thrownError { try options.check(size) }
            #expect(error?.code == .imageTooLarge && error?.reason.contains("side") == true)
        }
        #expect(throws: Never.self) { try options.check(PixelSize(width: 1 << 20, height: 8)) }
    }

    @Test("A JPEG has fewer scans the more pixels it has, since each of them takes the time of a whole image")
    func scans() throws {
        _ = try CoderRegistry.builtIn.decode(Bomb.progressiveJPEG(side: 5824, channels: 1, scans: 32))
        let error = #expect(throws: ImageError.self) {
            try CoderRegistry.builtIn.decode(Bomb.progressiveJPEG(side: 5824, channels: 1, scans: 33))
        }
        #expect(error?.reason.contains("more than 32 scans") == true, "\(String(describing: error))")
    }
}
