import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Truncates small images of each kind at every byte and damages every byte of their headers.
@Suite("Damaged images")
struct DamageTests {
    private static let registry = CoderRegistry.builtIn

    /// Files of a few hundred bytes each.
    private static let pictures: [(name: String, data: Data)] = {
        let size = PixelSize(width: 12, height: 9)
        var pictures: [(String, Data)] = [
            ("bmp", TestImage.quarters(size: size, format: .bmp)),
            ("tiff", TestImage.quarters(size: size, format: .tiff)),
        ]
        let pixels = PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: index % 4 == 3 ? 200 : index / 3) }
        }
        for format in [ImageFormat.jpeg, .png, .webp] {
            for isLossless in [false, true] where format == .webp || !isLossless {
                var options = EncodeOptions()
                options.isLossless = isLossless
                let data = pixels.flatMap { try? registry.encode(WebImage(pixels: $0), as: format, options: options) }
                pictures.append(("\(format.rawValue)\(isLossless ? " without loss" : "")", data ?? Data()))
            }
        }
        let suite = "test-images/gif-test-suite"
        for name in ["animation", "interlace", "dispose-restore-background", "local-color-table"] {
            pictures.append(("gif \(name)", (try? InstalledImages.data("\(suite)/\(name).gif")) ?? Data()))
        }
        return pictures
    }()

    private static let names = pictures.map(\.name)

    private func data(_ name: String) -> Data { Self.pictures.first { $0.name == name }?.data ?? Data() }

    /// Does everything that the library does with the bytes of an image.
    private func decodeAll(_ data: Data) throws(ImageError) {
        _ = ImageHeader(reading: data)
        let image = try Self.registry.decode(data, options: DecodeOptions(maximumPixelCount: 1 << 20))
        let decoder = image.animation?.makeDecoder()
        for index in 0..<min(image.frameCount, 8) { _ = try decoder?.frame(at: index) }
    }

    private func feed(_ data: Data) throws(ImageError) {
        let format = ImageFormat(sniffing: data)
        let options = DecodeOptions(size: .contain(PixelSize(width: 6, height: 6)), maximumPixelCount: 1 << 20)
        let coder = Self.registry.decoder(for: format)
        guard let decoder = coder?.makeIncrementalDecoder(for: format, options: options) else { return }
        for offset in stride(from: 0, to: data.count, by: 37) {
            try decoder.append(Data(data.dropFirst(offset).prefix(37)))
            _ = decoder.partialImage()
        }
        let image = try decoder.finish(data)
        // The same bytes make the same image in pieces as at once.
        #expect(throws: Never.self) {
            let whole = try Self.registry.decode(data, options: options)
            #expect(whole.pixels.straightAlpha == image.pixels.straightAlpha)
            #expect(whole.naturalSize == image.naturalSize && whole.frameCount == image.frameCount)
        }
    }

    private func isUnderstood(_ error: ImageError) -> Bool {
        [.badImageData, .imageTooLarge, .unsupportedFormat].contains(error.code)
    }

    @Test("Every prefix produces an error or an image", arguments: names)
    func prefixes(name: String) throws {
        let data = data(name)
        try #require(data.count > 20)
        try decodeAll(data)
        for length in 0..<data.count {
            for attempt in [decodeAll, feed] {
                do throws(ImageError) { try attempt(data.prefix(length)) } catch { #expect(isUnderstood(error)) }
            }
        }
    }

    @Test("Every single changed byte produces an error or an image", arguments: names)
    func corruption(name: String) throws {
        let data = data(name)
        for offset in 0..<min(data.count, 400) {
            for change: (UInt8) -> UInt8 in [{ ~$0 }, { $0 &+ 1 }, { $0 ^ 0x80 }, { _ in 0 }, { _ in 255 }] {
                var damaged = data
                damaged[offset] = change(damaged[offset])
                for attempt in [decodeAll, feed] {
                    do throws(ImageError) { try attempt(damaged) } catch { #expect(isUnderstood(error)) }
                }
            }
        }
    }
}
