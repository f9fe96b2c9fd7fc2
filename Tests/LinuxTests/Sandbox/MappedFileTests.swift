import Foundation
import Glibc
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux
@testable import WebImageSandbox

/// The files that this process and its decode workers both map.
@Suite("Files that workers map instead of copying them", .blocking, .serialized)
struct MappedFileTests {
    private static let size = PixelSize(width: 64, height: 48)
    private static let frameCount = 1000

    /// An animation of some 3 MB, whose frames take little memory. Its number makes it another file.
    private static func animation(_ number: Int) -> Data {
        TestImage.animation((0..<frameCount).map { UInt32(($0 + number) % 100 * 2) }, size: size)
    }

    private func coders(_ sandbox: DecodeSandbox) -> CoderRegistry {
        .builtIn(adding: [], sandbox: (sandbox, isOptional: false))
    }

    /// The megabytes of workers that are neither those of files nor shared.
    private func anonymousMegabytes(_ sandbox: DecodeSandbox) throws -> Double {
        try sandbox.processes.reduce(0) { sum, process in
            let text = try String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("Anonymous:") })
            return sum + (Double(line.split(whereSeparator: \.isWhitespace)[1]) ?? 0) / 1024
        }
    }

    private func file(_ bytes: Data) throws -> Int32 {
        var template = Array("/tmp/web-image-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        unlink(template)
        #expect(bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
        return descriptor
    }

    @Test("A mapped file has a descriptor that nobody writes to, and its parts have none") func descriptor() throws {
        let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let descriptor = try file(bytes)
        defer { close(descriptor) }
        let mapped = try #require(MappedFiles.map(descriptor, byteCount: bytes.count))
        #expect(mapped == bytes)
        let readable = try #require(MappedFiles.descriptor(of: mapped))
        #expect(readable != descriptor)
        #expect(write(readable, "a", 1) < 0 && errno == EBADF)
        #expect(MappedFiles.descriptor(of: bytes) == nil)
        #expect(MappedFiles.descriptor(of: mapped.dropFirst()) == nil)
        #expect(MappedFiles.descriptor(of: mapped.dropLast()) == nil)
        var changed = mapped
        changed.append(1)
        #expect(MappedFiles.descriptor(of: changed) == nil)
        #expect(MappedFiles.map(descriptor, byteCount: 0) == nil)
        #expect(MappedFiles.map(-1, byteCount: 10) == nil)
    }

    @Test("A copy cannot be changed, and copies end with their number") func copies() throws {
        let bytes = Data(repeating: 7, count: 5000)
        var copies: [Data] = []
        while copies.count < 1000, let copy = MappedFiles.copy(bytes) { copies.append(copy) }
        #expect((1...128).contains(copies.count))
        #expect(copies.allSatisfy { $0 == bytes && MappedFiles.descriptor(of: $0) != nil })
        let descriptor = try #require(MappedFiles.descriptor(of: copies[0]))
        #expect(pwrite(descriptor, "a", 1, 0) < 0)
        #expect(ftruncate(descriptor, 0) < 0)
        // A file has bytes although it has no descriptor any more.
        let other = try file(bytes)
        defer { close(other) }
        let mapped = try #require(MappedFiles.map(other, byteCount: bytes.count))
        #expect(mapped == bytes && MappedFiles.descriptor(of: mapped) == nil)
        copies.removeAll()
        for _ in 0..<1000 { #expect(MappedFiles.copy(bytes) != nil) }
    }

    @Test("An app and its workers have one copy of the file of an animation together") func animations() throws {
        let sandbox = DecodeSandbox(limit: 1)
        let coders = coders(sandbox)
        func first(_ data: Data) throws -> any FrameDecoding {
            let animation = try #require(try coders.decode(data).animation)
            #expect(MappedFiles.descriptor(of: try #require(animation.fileData)) != nil)
            let decoder = animation.makeDecoder()
            _ = try decoder.frame(at: 0)
            return decoder
        }
        let one = try first(Self.animation(0))
        let before = try anonymousMegabytes(sandbox)
        let files = (1...8).map { Self.animation($0) }
        let decoders = try files.map { try first($0) }
        let byteCount = files.reduce(0) { $0 + $1.count }
        #expect(try anonymousMegabytes(sandbox) - before < Double(byteCount) / 3e6)
        let expected = try #require(CoderRegistry.builtIn.decode(files[3]).animation?.makeDecoder())
        for index in [0, 1, 2, Self.frameCount - 1] {
            #expect(try decoders[3].frame(at: index).straightAlpha == expected.frame(at: index).straightAlpha)
        }
        _ = one
    }

    @Test("An animation that was decoded while it arrived is mapped once all of it is there") func arrival() throws {
        let sandbox = DecodeSandbox(limit: 1)
        let data = Self.animation(0)
        let coder = try #require(coders(sandbox).decoder(for: .gif))
        let arriving = try #require(coder.makeIncrementalDecoder(for: .gif, options: DecodeOptions()))
        try arriving.append(data.prefix(data.count / 2))
        let part = try #require(arriving.partialImage()?.animation?.makeDecoder())
        #expect(try part.frame(at: 0).size == Self.size)
        let image = try arriving.finish(data)
        let decoder = try #require(image.animation?.makeInterruptibleDecoder())
        decoder.takeOver(from: part)
        let expected = try #require(CoderRegistry.builtIn.decode(data).animation?.makeDecoder())
        for index in [1, 2, Self.frameCount - 1, 0] {
            #expect(try decoder.frame(at: index).straightAlpha == expected.frame(at: index).straightAlpha)
        }
        let maps = try sandbox.processes.map { try String(contentsOfFile: "/proc/\($0)/maps", encoding: .utf8) }
        #expect(maps.contains { $0.contains("/memfd:image") })
    }

    @Test("A worker that has nothing to do keeps little memory") func idle() async throws {
        let sandbox = DecodeSandbox(limit: 1)
        // Pixels of 12 MB, which travel in a file, and as many of the decoder.
        let image = TestImage.quarters(size: PixelSize(width: 2000, height: 1500), format: .png)
        // malloc keeps such memory once it has seen some.
        for _ in 0..<4 { _ = try coders(sandbox).decode(image) }
        #expect(await eventually { (try? anonymousMegabytes(sandbox)).map { $0 < 10 } ?? false })
    }
}
