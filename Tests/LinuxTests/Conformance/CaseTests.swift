import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageSandbox
import WebImageTesting

/// Compares the files of Tests/corpus/cases with what is right of them, however they are decoded.
@Suite("Damaged and odd files show what browsers show")
struct CaseTests {
    struct Entry: Sendable, CustomTestStringConvertible {
        let file: String
        /// The colours of the quarters of each frame, alpha first.
        let frames: [[UInt32]]
        /// The code of the error, where there are no frames.
        let code: ImageError.Code?

        var testDescription: String { file }
    }

    private static let folder =
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/corpus/cases"
    private static let sandbox = DecodeSandbox(limit: 2)
    private static let codes: [String: ImageError.Code] = [
        "badImageData": .badImageData, "unsupportedFormat": .unsupportedFormat,
    ]

    static let entries: [Entry] = {
        let text = (try? String(contentsOfFile: "\(folder)/expected", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let parts = line.split(separator: ":").map { $0.trimmingCharacters(in: .whitespaces) }
            let code = codes[parts[1]]
            let frames = parts[1].split(separator: "|").map { frame in
                let colors = frame.split(separator: " ").compactMap { color in
                    UInt32(color, radix: 16).map { color.count == 6 ? $0 | 0xFF00_0000 : $0 }
                }
                return colors.count == 1 ? Array(repeating: colors[0], count: 4) : colors
            }
            return Entry(file: parts[0], frames: code == nil ? frames : [], code: code)
        }
    }()

    private let here = CoderRegistry.builtIn
    private let there = CoderRegistry.builtIn(adding: [], sandbox: (CaseTests.sandbox, isOptional: false))

    /// The colours of each frame that differ by more than rounding.
    private func expect(_ image: WebImage, _ entry: Entry, tolerance: Int, _ way: String) throws {
        #expect(image.frameCount == entry.frames.count, "\(way)")
        let decoder = image.animation?.makeDecoder()
        for (index, colors) in entry.frames.enumerated() {
            let pixels = try decoder?.frame(at: index) ?? image.pixels
            let (width, height) = (pixels.size.width, pixels.size.height)
            for (quarter, color) in colors.enumerated() {
                let x = width * (1 + quarter % 2 * 2) / 4
                let y = height * (1 + quarter / 2 * 2) / 4
                let found = Array(pixels.straightAlpha[(y * width + x) * 4..<(y * width + x) * 4 + 4]).map(Int.init)
                // A transparent pixel has no colour.
                let wanted = [16, 8, 0, 24].map { Int(color >> $0 & 255) }
                let isSame =
                    wanted[3] == 0 ? found[3] == 0 : zip(wanted, found).allSatisfy { abs($0 - $1) <= tolerance }
                #expect(isSame, "\(way), frame \(index), quarter \(quarter): \(found) instead of \(wanted)")
            }
        }
    }

    private func expect(_ entry: Entry, tolerance: Int, _ way: String, _ decode: () throws -> WebImage) throws {
        do {
            let image = try decode()
            #expect(entry.code == nil, "\(way): it is shown")
            try expect(image, entry, tolerance: tolerance, way)
        } catch let error as ImageError {
            #expect(error.code == entry.code, "\(way): \(error)")
        }
    }

    @Test("Each file, whole, smaller, in pieces, in this process and in a worker", arguments: entries)
    func file(entry: Entry) throws {
        try #require(DecodeSandbox.shared != nil)
        let data = try Data(contentsOf: URL(filePath: "\(Self.folder)/\(entry.file)"))
        let format = ImageFormat(sniffing: data)
        if ["avif", "xpm", "icns"].contains(where: entry.file.hasSuffix), !PixbufCoder().canDecode(data, format: format)
        {
            #if compiler(>=6.3)
                try Test.cancel("gdk-pixbuf has no loader for it")
            #else
                return
            #endif
        }
        // The decoders of AVIF differ.
        let tolerance = format == .avif ? 12 : 2
        // libheif plays sequences since version 1.20, and SequenceTests has their frames.
        var options = DecodeOptions()
        options.isFirstFrameOnly = format == .avif
        for (place, coders) in [("here", here), ("in a worker", there)] {
            try expect(entry, tolerance: tolerance, "whole \(place)") {
                try coders.decode(data, options: options)
            }
            try expect(entry, tolerance: 12, "small \(place)") {
                var options = options
                let whole = try? coders.decode(data, options: options)
                let size = whole?.naturalSize ?? PixelSize(width: 2, height: 2)
                let half = PixelSize(width: max(size.width / 2, 1), height: max(size.height / 2, 1))
                options.size = .contain(half)
                return try coders.decode(data, options: options)
            }
            for length in [1, 50, data.count] {
                guard
                    let decoder = coders.decoder(for: format)?.makeIncrementalDecoder(
                        for: format,
                        options: DecodeOptions()
                    )
                else { continue }
                try expect(entry, tolerance: tolerance, "in pieces of \(length) \(place)") {
                    for start in stride(from: 0, to: data.count, by: length) {
                        try decoder.append(Data(data.dropFirst(start).prefix(length)))
                        _ = decoder.partialImage()
                    }
                    return try decoder.finish(data)
                }
            }
        }
    }

    @Test("Every file has its line")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter { $0 != "expected" }
        #expect(names.sorted() == Self.entries.map(\.file).sorted())
    }
}
