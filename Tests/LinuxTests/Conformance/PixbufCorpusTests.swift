import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux

/// Decodes the images that gdk-pixbuf is tested with, many of them hostile.
@Suite("The images of gdk-pixbuf's tests")
struct PixbufCorpusTests {
    private let registry = CoderRegistry.builtIn

    private func decode(
        _ data: Data,
        _ name: String,
        _ size: DecodeSize = .original
    ) throws(ImageError) -> WebImage {
        var options = DecodeOptions(size: size, maximumPixelCount: 1 << 24)
        options.formatHint = name.split(separator: ".").last.flatMap { ImageFormat(fileExtension: String($0)) }
        return try registry.decode(data, options: options)
    }

    /// Decodes a whole file, at once and in pieces.
    private func exhaust(_ data: Data, _ name: String) {
        let start = threadTime()
        do throws(ImageError) {
            let animation = try decode(data, name).animation
            let decoder = animation?.makeDecoder()
            for index in 0..<min(animation?.frameCount ?? 0, 50) { _ = try decoder?.frame(at: index) }
        } catch {
            #expect([.badImageData, .imageTooLarge, .unsupportedFormat].contains(error.code), "\(error)")
        }
        let format = ImageFormat(sniffing: data)
        let options = DecodeOptions(size: .contain(PixelSize(width: 64, height: 64)), maximumPixelCount: 1 << 24)
        if let decoder = registry.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options) {
            do throws(ImageError) {
                for offset in stride(from: 0, to: data.count, by: 1000) {
                    try decoder.append(data.dropFirst(offset).prefix(1000))
                    _ = decoder.partialImage()
                }
                _ = try decoder.finish(data)
            } catch {}
        }
        // Half a second on a quiet machine, and several times that on one that is shared.
        #expect(threadTime() - start < .seconds(5), "\(name) takes too long")
    }

    @Test("The images are installed")
    func isInstalled() {
        #expect(InstalledImages.names(in: "test-images/fail").count > 30, "Tests/run installs gdk-pixbuf-tests")
    }

    @Test(
        "Hostile images produce an error or an image in bounded time",
        arguments: InstalledImages.names(in: "test-images/fail")
    )
    func hostile(name: String) throws {
        exhaust(try InstalledImages.data("test-images/fail/\(name)"), name)
    }

    @Test(
        "Images with a reference resemble it",
        arguments: InstalledImages.names(in: "test-images/reftests").filter { name in
            // The PNG is truncated, which the library treats as an error.
            !name.hasSuffix(".ref.png") && name != "tga" && name != "bug696331.png"
        }
    )
    func reference(name: String) throws {
        let reference = try decode(InstalledImages.data("test-images/reftests/\(name).ref.png"), "ref.png")
        // An icon has a larger image, too: a PNG, which gdk-pixbuf does not read.
        let size = DecodeSize.contain(reference.pixelSize)
        let image = try decode(InstalledImages.data("test-images/reftests/\(name)"), name, size)
        #expect(image.pixelSize == reference.pixelSize)
        #expect(image.difference(from: reference) < 2)
    }

    @Test(
        "Randomly damaged images produce an error or an image in bounded time",
        arguments: InstalledImages.names(in: "test-images/randomly-modified")
    )
    func mutated(name: String) throws {
        let data = try InstalledImages.data("test-images/randomly-modified/\(name)")
        var generator = SeededGenerator(seed: UInt64(data.count))
        for _ in 0..<20 {
            var changed = data
            for _ in 0..<max(1, data.count / 200) {
                changed[Int.random(in: 0..<data.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            exhaust(changed, name)
        }
    }
}
