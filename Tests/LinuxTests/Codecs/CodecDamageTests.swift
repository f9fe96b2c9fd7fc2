import Foundation
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@testable import WebImageSandbox

/// Damages AVIF, HEIC, JPEG XL and SVG files, whose decoders are libraries that the library does not check.
@Suite("Damaged AVIF, HEIC, JPEG XL and SVG", .blocking, .serialized)
struct CodecDamageTests {
    struct Source: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let data: Data
    }

    private static let sources =
        CodecFile.few.map { Source(testDescription: $0.name, data: $0.data) }
        + [Source(testDescription: "drawing.svg", data: Data(drawing.utf8))]

    private static let drawing = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 32"><defs><linearGradient id="g"><stop stop-color="#f00"/>
        <stop offset="1" stop-color="#00f"/></linearGradient><filter id="b"><feGaussianBlur stdDeviation="1"/></filter></defs>
        <rect width="24" height="16" fill="url(#g)"/><path d="M24 0h24v16h-24z" fill="#0f0" filter="url(#b)"/>
        <text y="30" font-size="9">Ågq</text><g transform="translate(24 16) scale(2)"><circle cx="5" cy="4" r="3"/></g></svg>
        """

    private static let sandbox = DecodeSandbox(paths: [WorkerProgram.own], limit: 2, timeLimit: .seconds(20))
    private static let coders = CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: false))

    /// What becomes of files, by the code of their error; 0 is an image.
    private func outcomes(of files: [Data]) -> [Int: Int] {
        let counts = Mutex<[Int: Int]>([:])
        DispatchQueue.concurrentPerform(iterations: files.count) { index in
            let options = DecodeOptions(url: URL(string: "https://host/a"), maximumPixelCount: 1 << 20)
            var code = 0
            do throws(ImageError) {
                let image = try Self.coders.decode(files[index], options: options)
                if let decoder = image.animation?.makeDecoder() {
                    for frame in 0..<min(image.frameCount, 4) { _ = try decoder.frame(at: frame) }
                }
            } catch {
                code = error.code.rawValue
            }
            counts.withLock { $0[code, default: 0] += 1 }
        }
        return counts.withLock { $0 }
    }

    /// Errors that say something about a file.
    private static let understood: Set<ImageError.Code> = [.badImageData, .imageTooLarge, .unsupportedFormat]

    @Test("A file that ends early gives an error or an image", arguments: sources)
    func truncated(source: Source) {
        let pieces = (0..<10).map { source.data.prefix(source.data.count * $0 / 10) }
        let outcomes = outcomes(of: pieces.map { Data($0) })
        for code in outcomes.keys where code != 0 {
            #expect(Self.understood.contains { $0.rawValue == code }, "\(outcomes)")
        }
    }

    @Test("A thousand changed bytes give an error or an image each", arguments: sources)
    func changed(source: Source) {
        var generator = SeededGenerator(seed: UInt64(source.data.count))
        let files = (0..<1000).map { number in
            var file = source.data
            for _ in 0...(number % 3) {
                // Half of the damage is near the beginning, where the structure is.
                let end = Bool.random(using: &generator) ? file.count : min(file.count, 400)
                let place = Int.random(in: 4..<end, using: &generator)
                file[place] = UInt8.random(in: 0...255, using: &generator)
            }
            return file
        }
        let outcomes = outcomes(of: files)
        // A crash of the worker is an error of its own.
        let known = Self.understood.union([.decoderCrashed, .decoderTimedOut])
        for code in outcomes.keys where code != 0 {
            #expect(known.contains { $0.rawValue == code }, "\(outcomes)")
        }
        #expect(outcomes[0] ?? 0 > 0 && outcomes.count > 1)
        let crashes = outcomes[ImageError.Code.decoderCrashed.rawValue] ?? 0
        #expect(crashes < 20, "\(crashes) of 1000 files end the worker")
    }

    @Test("A grid that claims more pixels than the header costs no memory", arguments: [0xFF, 0x4F] as [UInt8])
    func grid(size: UInt8) throws {
        var file = try #require(CodecFile.compared.first { $0.name == "grid.avif" }).data
        // The size of a grid is in its item, where the header does not see it.
        file.replaceSubrange(525..<529, with: [size, 0xFF, size, 0xFF])
        for coders in [CoderRegistry.builtIn, Self.coders] {
            let error = thrownError { try coders.decode(file) }
            #expect(error?.code == .badImageData)
        }
    }

    @Test("Workers that are killed while they decode lose no image", arguments: sources)
    func killed(source: Source) throws {
        let sandbox = DecodeSandbox(limit: 2)
        let coders = CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: false))
        let expected = try coders.decode(source.data).pixelSize
        let count = Atomic(0)
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 100) { _ in
            do throws(ImageError) {
                let image = try coders.decode(source.data)
                if image.pixelSize != expected { failures.withLock { $0.append("\(image.pixelSize)") } }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
            // The other thread is decoding.
            guard count.wrappingAdd(1, ordering: .relaxed).newValue % 10 == 0 else { return }
            for process in sandbox.processes { kill(process, SIGKILL) }
        }
        #expect(failures.withLock { $0 } == [])
    }
}
