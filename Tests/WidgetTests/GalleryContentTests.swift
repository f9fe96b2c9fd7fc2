import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("What the pages of the gallery do", .blocking, .serialized)
struct GalleryContentTests {
    private func decoded(_ name: String, _ width: Int, _ height: Int) throws -> WebImage {
        let options = DecodeOptions(size: .cover(PixelSize(width: width, height: height)))
        return try CoderRegistry.builtIn.decode(ShippedImage.data(name), options: options)
    }

    @Test("The hash and the colour of the placeholders are those of the very image that is loading")
    func placeholders() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../Demo/Gallery/Pages/PlaceholdersPage.swift")
            .standardized
        let source = try String(contentsOf: file, encoding: .utf8)
        let text = try #require(source.firstMatch(of: /\.blurHash\("(.+?)"\)/)?.1)
        let shown = try #require(BlurHash(String(text))?.image(size: PixelSize(width: 8, height: 8)))
        let image = try CoderRegistry.builtIn.decode(ShippedImage.data("desert-dunes.jpg"), options: DecodeOptions())
        let right = try #require(BlurHash(of: image)?.image(size: PixelSize(width: 8, height: 8)))
        #expect(right.count(of: shown, size: PixelSize(width: 7, height: 7), tolerance: 4) == 1, "\(text)")
        let mean = try #require(BlurHash(of: image, x: 1, y: 1)?.image(size: PixelSize(width: 1, height: 1)))
        let color = try #require(source.firstMatch(of: /ImageColor\(0x(\w{6})\)/).flatMap { UInt32($0.1, radix: 16) })
        let expected = try #require(mean.colors().keys.first)
        for shift in [0, 8, 16] as [UInt32] {
            let (a, b) = (Int(color >> shift & 255), Int(expected >> shift & 255))
            #expect(abs(a - b) < 4, "\(String(expected, radix: 16))")
        }
    }

    @Test("The gallery opens with the comparison, which runs by itself and ends with a sentence about its images")
    func comparison() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-compare-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (photo, trace) = (folder.appending(path: "window.tiff"), folder.appending(path: "trace"))
        let result = try GalleryDisplay.xvfb.runGallery([
            "--size", "1000x720", "--screenshot", photo.path(), "--trace", trace.path(),
            "--cache-dir", folder.appending(path: "cache").path(),
        ])
        #expect(result.exitCode == 0, "\(result.output)")
        let texts = try String(contentsOf: trace, encoding: .utf8)
        // The same images come to both sides: 48 of the JPEG files, one after the other.
        let names = ShippedImage.all.filter { $0.hasSuffix(".jpg") }
        let files = (0..<48).map { ShippedImage.data(names[$0 % names.count]) }
        let numbers = try #require(
            texts.firstMatch(of: /text Pixels of 48 images: (\S+)\skB with the library, (\S+)\sMB without\./)
        )
        let pixelCount = try files.map { try CoderRegistry.builtIn.decode($0, options: DecodeOptions()).pixelSize }
            .map { $0.width * $0.height }.reduce(0, +)
        #expect(numbers.2 == String(format: "%.1f", Double(pixelCount * 3) / 1e6))
        // A cell has about 57 x 50 pixels of four bytes each.
        #expect((300..<900).contains(try #require(Double(numbers.1))), "\(numbers.1)")
        let transferred = texts.matches(of: /text Transferred\ntext (\S+)\sMB/).compactMap { Double($0.1) }
        let fileSize = Double(files.map(\.count).reduce(0, +)) / 1e6
        #expect(transferred.count == 2 && transferred.allSatisfy { abs($0 - fileSize) < 0.1 }, "\(transferred)")
        // The library does not need to have had a frame alone.
        let frames = texts.matches(of: /text Longest frame\ntext (\S+)/).map(\.1)
        #expect(frames.count == 2 && frames.last.flatMap { Int($0) } ?? 0 > 0, "\(frames)")
        let window = try WebImage(contentsOf: photo)
        for half in [265..<610, 630..<970] { #expect(window.colors(x: half, y: 140..<500).count > 2000, "\(half)") }
    }

    @Test("The comparison frees the textures of plain GTK when it ends, each time")
    func comparedMemory() throws {
        let screen = try GalleryScreen(["--page", "compare", "--size", "1000x720"])
        #expect(screen.hasWindow("Compare"), "\(screen.output)")
        // They have 159 MB.
        let least = 100_000_000
        func hasEnded() -> Bool {
            EventLog<Int>.poll(pause: 50_000) {
                (try? screen.memory(of: "Compare")).map { $0.peak - $0.now > least } ?? false
            }
        }
        #expect(hasEnded(), "\(screen.output)")
        let isRunning = EventLog<Int>.poll(pause: 50_000) {
            screen.click(x: 962, y: 680)
            return (try? screen.memory(of: "Compare")).map { $0.peak - $0.now < least } ?? false
        }
        #expect(isRunning && hasEnded(), "\(screen.output)")
    }

    @Test("A progressive image is seen long before it is complete, and loads again by itself")
    func progressive() throws {
        let screen = try GalleryScreen(["--page", "progressive", "--size", "1000x720"])
        let size = PixelSize(width: 300, height: 200)
        let image = try decoded("balloons.jpg", 300, 200)
        // A first scan is coarse.
        func count(_ tolerance: Int) -> Int {
            (try? screen.photograph().count(of: image, size: size, tolerance: tolerance)) ?? 0
        }
        #expect(EventLog<Int>.poll(pause: 50_000) { count(40) == 1 }, "\(screen.output)")
        #expect(EventLog<Int>.poll(pause: 50_000) { count(13) == 2 })
        #expect(EventLog<Int>.poll(pause: 50_000) { count(40) < 2 })
    }

    @Test("Each format is shown with the bytes of its file if it is decoded here, and otherwise says what to do")
    func formats() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-formats-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (photo, trace) = (folder.appending(path: "window.tiff"), folder.appending(path: "trace"))
        let result = try GalleryDisplay.xvfb.runGallery([
            "--page", "formats", "--size", "1000x720", "--screenshot", photo.path(), "--trace", trace.path(),
            "--cache-dir", folder.appending(path: "cache").path(),
        ])
        #expect(result.exitCode == 0, "\(result.output)")
        let texts = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("text ") }.map { String($0.dropFirst(5)) }
        var count = 0
        var last = 0
        for (title, suffix) in [
            ("AVIF", "avif"), ("HEIC", "heic"), ("JPEG XL", "jxl"), ("WebP", "webp"), ("JPEG", "jpg"), ("GIF", "gif"),
            ("PNG", "png"), ("SVG", "svg"),
        ] {
            let name = "formats/cat.\(suffix)"
            let byteCount = ShippedImage.data(name).count
            #expect(suffix == "svg" || byteCount > last, "\(title) is not in its place")
            last = byteCount
            // Its lines end before the title of the next one.
            let lines = try texts[#require(texts.firstIndex(of: title))...].dropFirst().prefix(3)
            guard (try? decoded(name, 152, 114)) != nil else {
                #expect(lines.first?.hasSuffix(".") == true, "\(title) \(lines)")
                continue
            }
            if suffix != "svg" { count += 1 }
            #expect(lines.first == String(format: "%.1f\u{A0}kB", Double(byteCount) / 1000), "\(title) \(lines)")
            #expect(lines.last?.hasPrefix("decoded in ") == true, "\(title) \(lines)")
        }
        let window = try WebImage(contentsOf: photo)
        let size = PixelSize(width: 152, height: 114)
        let seen = try window.count(of: decoded("formats/cat.png", 152, 114), size: size)
        #expect(seen == count)
        let drawing = try? decoded("formats/cat.svg", 152, 114)
        #expect(drawing.map { window.count(of: $0, size: size) } ?? 1 == 1)
    }

    @Test("The button below a failed image tries again, and takes the reason away when the image is there")
    func retry() throws {
        let screen = try GalleryScreen(["--page", "failures", "--size", "1000x720"])
        #expect(screen.hasWindow("Errors and retry") && screen.isDrawn, "\(screen.output)")
        let reason = (x: 375..<412, y: 258..<345)
        func hasReason() -> Bool {
            (try? screen.photograph().colors(x: reason.x, y: reason.y).count) ?? 0 > 1
        }
        func hasImage() -> Bool {
            (try? screen.photograph().colors(x: 275..<410, y: 122..<220).count) ?? 0 > 1000
        }
        #expect(EventLog<Int>.poll(pause: 50_000) { hasReason() })
        #expect(!hasImage())
        let isThere = EventLog<Int>.poll(pause: 50_000) {
            screen.click(x: 320, y: 379)
            return hasImage()
        }
        #expect(isThere, "\(screen.output)")
        #expect(EventLog<Int>.poll(pause: 50_000) { !hasReason() })
    }

    @Test("A file of the disk is shown when its path is typed")
    func path() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "gwi-typed-\(UUID().uuidString).png")
        try TestImage.solid(0x2CD41A, size: PixelSize(width: 320, height: 240)).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let screen = try GalleryScreen(["--page", "links", "--size", "1000x720"])
        #expect(screen.hasWindow("Try a URL") && screen.isDrawn, "\(screen.output)")
        screen.click(x: 600, y: 113)
        let isShown = EventLog<Int>.poll(pause: 50_000) {
            screen.press("ctrl+a")
            screen.type(file.path())
            screen.press("Return")
            return (try? screen.photograph().colors()[0x2CD41A]) ?? 0 > 20_000
        }
        #expect(isShown, "\(screen.output)")
    }

    @Test("All animations move, the APNG too")
    func animations() throws {
        let screen = try GalleryScreen(["--page", "animation", "--size", "1000x720"])
        #expect(screen.hasWindow("Animation") && screen.isDrawn, "\(screen.output)")
        // The pinwheel is a square in the middle of its cell.
        let y = 155..<255
        for x in [272..<404, 455..<550, 600..<732, 764..<896] {
            var first: [UInt32: Int] = [:]
            let isThere = EventLog<Int>.poll(pause: 50_000) {
                first = (try? screen.photograph().colors(x: x, y: y)) ?? [:]
                return first.count > 20
            }
            #expect(isThere, "\(x) \(screen.output)")
            #expect(
                EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors(x: x, y: y)) != first },
                "\(x)"
            )
        }
    }
}
