import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux

/// Damages images at random and compares what they give in pieces with what they give at once.
///
/// GWI_MUTANTS and GWI_MUTANT_SEED ask for more damaged files of each image, and for others.
@Suite("Damaged images, one result")
struct MutationTests {
    /// What a file gives: an image or the code of an error.
    private enum Outcome: Equatable {
        case image(WebImage, second: PixelBuffer?)
        case failure(ImageError.Code)

        static func == (one: Outcome, other: Outcome) -> Bool {
            switch (one, other) {
            case (.image(let one, let second), .image(let other, let otherSecond)):
                one.naturalSize == other.naturalSize && one.scale == other.scale && one.orientation == other.orientation
                    && one.format == other.format && one.isPartial == other.isPartial
                    && one.frameCount == other.frameCount && one.loopCount == other.loopCount
                    && one.pixels.isSame(as: other.pixels) && isSame(second, otherSecond)
            case (.failure(let one), .failure(let other)): one == other
            default: false
            }
        }

        private static func isSame(_ one: PixelBuffer?, _ other: PixelBuffer?) -> Bool {
            guard let one, let other else { return one == nil && other == nil }
            return one.isSame(as: other)
        }

        init(_ make: () throws(ImageError) -> WebImage) {
            do throws(ImageError) {
                let image = try make()
                self = .image(image, second: try? image.animation?.makeDecoder().frame(at: 1))
            } catch {
                self = .failure(error.code)
            }
        }
    }

    private static let environment = ProcessInfo.processInfo.environment
    private static let mutantCount = environment["GWI_MUTANTS"].flatMap { Int($0) } ?? 10
    private static let seed = environment["GWI_MUTANT_SEED"].flatMap { UInt64($0) } ?? 1

    private let registry = CoderRegistry.builtIn

    private static let sizes: [DecodeSize] = [.original, .contain(PixelSize(width: 20, height: 20))]

    @Test("A damaged image gives the same pixels or the same error in pieces as at once")
    func mutants() throws {
        var generator = SeededGenerator(seed: Self.seed)
        var (imageCount, errorCount) = (0, 0)
        var files = try ConformanceTests.entries.map { (name: $0.file, data: try ConformanceTests.data($0.file)) }
        files.append(("cat.jpg", ShippedImage.data("cat.jpg")))
        for (name, data) in files {
            let format = ImageFormat(sniffing: data)
            let coder = registry.decoder(for: format)
            for number in 0..<Self.mutantCount {
                var options = DecodeOptions(size: Self.sizes[number % 2], maximumPixelCount: 1 << 20)
                options.isFirstFrameOnly = Int.random(in: 0..<4, using: &generator) == 0
                guard let decoder = coder?.makeIncrementalDecoder(for: format, options: options) else { break }
                let (damaged, damage) = data.damaged(using: &generator)
                // What is no longer of the format gets another decoder.
                guard ImageFormat(sniffing: damaged) == format else { continue }
                let whole = Outcome { () throws(ImageError) in try registry.decode(damaged, options: options) }
                switch whole {
                case .image: imageCount += 1
                case .failure: errorCount += 1
                }
                guard let pieces = outcome(of: damaged, in: decoder, using: &generator), pieces != whole else {
                    continue
                }
                Issue.record("\(name), \(damage), \(options.size): at once \(whole), in pieces \(pieces)")
                if let folder = Self.environment["GWI_MUTANT_FOLDER"] {
                    try? damaged.write(to: URL(filePath: "\(folder)/\(number)-\(name)"))
                }
            }
        }
        // Damage that leaves all files or none intact would compare nothing.
        #expect(imageCount > 50 && errorCount > 50)
    }

    /// - Returns: `nil` when the decoder stopped before the end, so that the file is decoded as a whole.
    private func outcome(
        of data: Data,
        in decoder: any IncrementalImageDecoding,
        using generator: inout SeededGenerator
    ) -> Outcome? {
        let longest = max(1, data.count / Int.random(in: 1...12, using: &generator))
        var rest = data[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...min(rest.count, longest), using: &generator)
            do { try decoder.append(Data(rest.prefix(count))) } catch { return nil }
            rest = rest.dropFirst(count)
            if Bool.random(using: &generator) { _ = decoder.partialImage() }
        }
        return Outcome { () throws(ImageError) in try decoder.finish(data) }
    }
}

extension Data {
    /// The bytes with one or a few kinds of damage, and what was done to them.
    fileprivate func damaged(using generator: inout SeededGenerator) -> (Data, String) {
        var bytes = [UInt8](self)
        var damage: [String] = []
        for _ in 0..<(Bool.random(using: &generator) ? 1 : Int.random(in: 1...4, using: &generator)) {
            guard bytes.count > 16 else { break }
            // Half of the damage is near the beginning, where the structure is.
            let near = Bool.random(using: &generator) ? bytes.count : Swift.min(bytes.count, 800)
            let start = Int.random(in: 4..<near, using: &generator)
            let end = Swift.min(bytes.count, start + Int.random(in: 1...64, using: &generator))
            let byte = UInt8.random(in: 0...255, using: &generator)
            switch Int.random(in: 0..<9, using: &generator) {
            case 0...1:
                bytes[start] ^= 1 << (byte & 7)
                damage.append("bit \(byte & 7) of \(start) flipped")
            case 2:
                bytes[start] = byte
                damage.append("\(byte) at \(start)")
            case 3:
                bytes.removeSubrange(start..<end)
                damage.append("\(start)..<\(end) cut out")
            case 4:
                bytes.insert(contentsOf: bytes[start..<end], at: start)
                damage.append("\(start)..<\(end) doubled")
            case 5:
                for index in start..<end { bytes[index] = byte }
                damage.append("\(byte) at \(start)..<\(end)")
            case 6:
                bytes.removeLast(bytes.count - start)
                damage.append("\(start) bytes left")
            case 7:
                let last = bytes.suffix(2)
                bytes.removeLast(bytes.count - start)
                bytes += last
                damage.append("\(start) bytes and the last two left")
            default:
                bytes.replaceSubrange(start..<end, with: [0xFF, [0xD9, 0xDA, 0xC4, 0xD0, 0xE0][Int(byte) % 5]])
                damage.append("a marker for \(start)..<\(end)")
            }
        }
        return (Data(bytes), damage.joined(separator: ", "))
    }
}

extension PixelBuffer {
    fileprivate func isSame(as other: PixelBuffer) -> Bool {
        guard size == other.size, format == other.format else { return false }
        return withUnsafeBytes { one in
            other.withUnsafeBytes { other in
                one.count == other.count && memcmp(one.baseAddress!, other.baseAddress!, one.count) == 0
            }
        }
    }
}
