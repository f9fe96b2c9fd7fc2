import FoundationEssentials
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore
@testable import WebImageFormats
@testable import WebImageLinux

/// What only gdk-pixbuf decodes: in this process with the loaders of Debian 12 and 13, in another one where it uses glycin.
@Suite("Formats without a decoder of the library")
struct OtherFormatTests {
    private static let coder = PixbufCoder()

    /// The colours of the quarters from the upper left to the lower right.
    private func quarters(_ image: WebImage) -> [Int] {
        let size = image.pixels.size
        return [1, 3].flatMap { y in
            [1, 3].map { x in image.color(size.width * x / 4, size.height * y / 4) }
        }
    }

    private func isClose(_ colors: [Int], _ expected: [Int]) -> Bool {
        zip(colors, expected).allSatisfy { $0.isClose(to: $1) }
    }

    /// Those for which every Debian has a loader.
    private static let files = OtherFormatFile.all.filter { $0.format != .jpegXL }
    private static let jpegXLFiles = OtherFormatFile.all.filter { $0.format == .jpegXL }
    private static let noJPEGXL: Comment = "gdk-pixbuf has no loader for JPEG XL, as on Debian 12"

    @Test("Formats are recognised by their first bytes", arguments: OtherFormatFile.all)
    func sniffing(file: OtherFormatFile) {
        #expect(ImageFormat(sniffing: file.data) == file.format)
    }

    @Test("Files are decoded upright, at the size of the file and at the size asked for", arguments: files)
    func upright(file: OtherFormatFile) throws {
        try expectUpright(file)
    }

    @Test(
        "JPEG XL is decoded upright, at the size of the file and at the size asked for",
        .enabled(if: coder.canDecode(.jpegXL), noJPEGXL),
        arguments: jpegXLFiles
    )
    func uprightJPEGXL(file: OtherFormatFile) throws {
        try expectUpright(file)
    }

    private func expectUpright(_ file: OtherFormatFile) throws {
        let natural = file.isTurned ? PixelSize(width: 32, height: 48) : PixelSize(width: 48, height: 32)
        let colors =
            file.isTurned ? [0x0000FF, 0xFF0000, 0xFFFF00, 0x00FF00] : [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00]
        let small = PixelSize(width: natural.width / 2, height: natural.height / 2)
        for (size, expected) in [(DecodeSize.original, natural), (.contain(small), small)] {
            let image = try CoderRegistry.builtIn.decode(file.data, options: DecodeOptions(size: size))
            #expect(image.pixelSize == expected && image.format == file.format)
            let found = quarters(image)
            #expect(isClose(found, colors), "\(found.map { String($0, radix: 16) }) at \(expected)")
        }
    }

    @Test("SVG is drawn as large as it is wanted, and anew for a larger box")
    func scalable() throws {
        let file = try #require(OtherFormatFile.all.first { $0.format == .svg })
        let size = PixelSize(width: 480, height: 320)
        for (asked, expected) in [
            (DecodeSize.contain(size.transposed), PixelSize(width: 320, height: 213)), (.cover(size), size),
            (.stretch(PixelSize(width: 96, height: 32)), PixelSize(width: 96, height: 32)),
            (.within(byteCount: 1 << 20), PixelSize(width: 48, height: 32)),
        ] {
            let image = try CoderRegistry.builtIn.decode(file.data, options: DecodeOptions(size: asked))
            #expect(image.pixelSize == expected && image.naturalSize == PixelSize(width: 48, height: 32))
            let found = quarters(image)
            #expect(isClose(found, [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00]), "\(asked)")
            // Nothing was scaled up: the edge between the quarters is as sharp as in the file.
            #expect(image.color(expected.width / 2 - 2, 0) == 0xFF0000)
            #expect(image.color(expected.width / 2 + 1, 0) == 0x00FF00)
        }
        let image = try CoderRegistry.builtIn.decode(file.data, options: DecodeOptions(size: .contain(size)))
        let url = try #require(URL(string: "https://example.org/a.svg"))
        for (box, isServed) in [(size, true), (PixelSize(width: 960, height: 640), false)] {
            #expect(MemoryQuery(ImageRequest(url: url, decodeSize: .contain(box))).isServed(by: image) == isServed)
        }
        // One that was drawn at its own size serves for that.
        let own = try CoderRegistry.builtIn.decode(file.data, options: DecodeOptions())
        for (asked, isServed) in [(DecodeSize.original, true), (.contain(size), false), (.cover(size), false)] {
            #expect(MemoryQuery(ImageRequest(url: url, decodeSize: asked)).isServed(by: own) == isServed)
        }
        // An empty box is none.
        let boxless = DecodeOptions(size: .contain(PixelSize(width: 0, height: 10)))
        #expect(try CoderRegistry.builtIn.decode(file.data, options: boxless).pixelSize == own.pixelSize)
    }

    @Test(
        "SVG grows no further than the limit of pixels, whatever the box",
        arguments: [
            (DecodeSize.contain(PixelSize(width: 1 << 14, height: 1 << 14)), PixelSize(width: 256, height: 256)),
            (.cover(PixelSize(width: 1 << 14, height: 10)), PixelSize(width: 256, height: 256)),
            // What is drawn to be stretched is larger than the box, and the limit counts for it, too.
            (.stretch(PixelSize(width: 1 << 14, height: 10)), PixelSize(width: 256, height: 10)),
            (.contain(PixelSize(width: 100, height: 100)), PixelSize(width: 100, height: 100)),
        ]
    )
    func scalableLimit(asked: DecodeSize, expected: PixelSize) throws {
        let svg = Data(
            "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'><rect width='8' height='8'/></svg>".utf8
        )
        // A loader that draws more than the limit makes the decoder throw.
        let options = DecodeOptions(size: asked, maximumPixelCount: 256 * 256)
        let image = try CoderRegistry.builtIn.decode(svg, options: options)
        #expect(image.pixelSize == expected && image.naturalSize == PixelSize(width: 8, height: 8))
        // A box beyond the limit does not have the image decoded again and again.
        let url = try #require(URL(string: "https://example.org/a.svg"))
        #expect(MemoryQuery(ImageRequest(url: url, decodeSize: asked)).isServed(by: image))
    }

    @Test("gdk-pixbuf and the library together turn an image once", arguments: ImageOrientation.allCases)
    func orientation(orientation: ImageOrientation) throws {
        let size = PixelSize(width: 48, height: 32)
        let value = UInt8(orientation.rawValue)
        var tiff = TestTIFF(width: size.width, height: size.height, orientation: orientation.rawValue)
        tiff.sample = { x, y, sample in [UInt64(x * 5), UInt64(y * 8), 0][sample] }
        let png = TestImage.quarters(size: size)
        let exif = Array("MM\0*\0\0\0\u{8}".utf8) + [0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0]
        let files = [
            CoderTests.addingOrientation(value, to: TestImage.quarters(size: size, format: .jpeg)),
            Data(png.prefix(33) + TestImage.chunk("eXIf", exif) + png.dropFirst(33)), tiff.file,
        ]
        for file in files {
            let expected = try CoderRegistry.builtIn.decode(file)
            let image = try Self.coder.decode(file, options: DecodeOptions())
            #expect(image.pixelSize == expected.pixelSize && image.orientation == expected.orientation)
            #expect(isClose(quarters(image), quarters(expected)), "\(image.format)")
        }
    }

    @Test("Damaged files and too many pixels are refused", arguments: files)
    func refused(file: OtherFormatFile) {
        let half = file.data.prefix(file.data.count / 2)
        #expect(throws: ImageError.self) { try CoderRegistry.builtIn.decode(half) }
        expectLimit(file)
    }

    @Test(
        "Too many pixels of JPEG XL are refused",
        .enabled(if: coder.canDecode(.jpegXL), noJPEGXL),
        arguments: jpegXLFiles
    )
    func refusedJPEGXL(file: OtherFormatFile) {
        // The loader of libjxl shows what is there of a truncated file.
        expectLimit(file)
    }

    private func expectLimit(_ file: OtherFormatFile) {
        // More pixels than there is memory for are refused with their number. HEIC stores blocks of 64 x 64.
        var small = DecodeOptions()
        small.reservedPixelCount = 1000
        let error = thrownError { try CoderRegistry.builtIn.decode(file.data, options: small) }
        #expect(error?.code == .imageTooLarge && error?.unreservedPixelCount ?? 0 >= 1536, "\(error as Any)")
        var options = DecodeOptions()
        options.maximumPixelCount = 1000
        do {
            _ = try CoderRegistry.builtIn.decode(file.data, options: options)
            Issue.record("1536 pixels are more than 1000")
        } catch {
            #expect(error.code == .imageTooLarge, "\(error)")
        }
    }

    // MARK: - The wait for another process

    private func wait(
        limit: Duration,
        isElsewhere: Bool = true,
        leftBehind: LoaderWait.CallsLeftBehind? = nil
    ) -> LoaderWait {
        LoaderWait(
            format: .avif,
            isElsewhere: isElsewhere,
            limit: limit,
            options: DecodeOptions(url: URL(string: "https://example.org/a.avif")),
            leftBehind: leftBehind
        )
    }

    @Test("A process that takes too long ends with an error, and one that nobody waits for with the load")
    func givingUp() throws {
        // Given a process that does not answer
        let gate = Gate()
        gate.close()
        defer { gate.open() }
        let image = try WebImage(data: TestImage.quarters(size: PixelSize(width: 2, height: 2)))
        let work: @Sendable () throws(ImageError) -> WebImage = {
            gate.wait()
            return image
        }
        // When its time is over
        do {
            _ = try wait(limit: .zero).run(until: { false }, work)
            Issue.record("There is no time")
        } catch {
            // Then the error says so
            #expect(error.code == .timedOut && error.url?.path() == "/a.avif")
            #expect(error.reason.contains("AVIF") && error.remedy.contains("decoder"))
        }
        // When the load is cancelled
        do {
            _ = try wait(limit: .seconds(60)).run(until: { true }, work)
            Issue.record("The load is cancelled")
        } catch {
            #expect(error.isCancelled)
        }
        // Then later images are decoded all the same
        #expect(try wait(limit: .seconds(60)).run(until: { false }) { image }.pixelSize == image.pixelSize)
    }

    @Test("No process is started, nor a loader made, while too many hang", arguments: [(true, 8), (false, 2)])
    func hanging(isElsewhere: Bool, limit: Int) {
        // Given as many processes that do not answer as may be left behind
        let gate = Gate()
        gate.close()
        defer { gate.open() }
        let wait = wait(limit: .zero, isElsewhere: isElsewhere, leftBehind: LoaderWait.CallsLeftBehind())
        let refused = DecodeOptions().badData("The gate is open")
        for _ in 0..<wait.maximumLeftBehind {
            #expect(throws: ImageError.self) {
                try wait.run(until: { false }) { () throws(ImageError) in
                    gate.wait()
                    throw refused
                }
            }
        }
        #expect(wait.leftBehind.count == limit && wait.maximumLeftBehind == limit)
        // When another file is to be decoded
        let calls = EventLog<Int>()
        let error = thrownError {
            try wait.run(until: { false }) { () throws(ImageError) in
                calls.add(1)
                throw refused
            }
        }
        // Then it fails at once
        #expect(error?.code == .decoderUnavailable && calls.all.isEmpty)
        // And when the processes end
        gate.open()
        // Then they count no longer.
        #expect(EventLog<Int>.poll { wait.leftBehind.count == 0 })
    }

    @Test("The memory of a call that is left behind is taken until it ends")
    func memoryLeftBehind() {
        // Given a decode with memory that does not end
        let (gate, budget) = (Gate(), MemoryBudget(limit: 1600))
        gate.close()
        defer { gate.open() }
        let refused = DecodeOptions().badData("The gate is open")
        var memory = budget.takeForDecoding(500, isSlow: true)
        // When its time is over, and its caller has given up
        let error = thrownError {
            try wait(limit: .zero, leftBehind: LoaderWait.CallsLeftBehind())
                .run(holding: memory, until: { false }) { () throws(ImageError) in
                    gate.wait()
                    throw refused
                }
        }
        #expect(error?.code == .timedOut)
        memory = nil
        // Then others do not get its memory before it ends.
        #expect(budget.used.decoding == 500)
        gate.open()
        #expect(EventLog<Int>.poll { budget.used.decoding == 0 })
    }

    @Test(
        "A process that does not start gives an error that names bubblewrap",
        arguments: [
            "Could not spawn the following command. Is the used binary available? `\"bwrap\" \"--unshare-all\"`: No such file",
            "Loader process exited early with status '1'Command:\n \"bwrap\" \"--unshare-all\" \"--die-with-parent\"",
        ]
    )
    func noProcess(message: String) {
        let error = wait(limit: .zero).error(message)
        #expect(error.code == .decoderUnavailable && error.url != nil && !error.isPermanent)
        #expect(error.reason.contains("AVIF") && !error.reason.contains("--unshare-all"), "\(error.reason)")
        #expect(error.remedy.contains("bubblewrap") && error.remedy.contains("ImageManager.Configuration.decoders"))
    }

    @Test("What a process says of a damaged file is an error of the file")
    func damagedElsewhere() {
        let message = "Remote error: org.gnome.glycin.Error.LoadingError: Invalid input: Unexpected end of file"
        #expect(wait(limit: .zero).error(message).code == .badImageData)
    }
}
