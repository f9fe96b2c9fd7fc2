import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Reads DOT! and a width, in pixels of the colour that a request names.
private struct DotDecoder: ImageDecoding {
    static let format = ImageFormat(rawValue: "dot")
    let calls = EventLog<[String: String]>()

    func canDecode(_ format: ImageFormat) -> Bool { format == Self.format }

    func canDecode(_ head: Data, format: ImageFormat) -> Bool { head.starts(with: Array("DOT!".utf8)) }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        calls.add(options.decoderParameters)
        guard let width = data.dropFirst(4).first, width > 0 else {
            throw ImageError(.badImageData, url: options.url, reason: "No dot", remedy: "Draw one.")
        }
        let color = UInt8(options.decoderParameters["green"] ?? "") ?? 0
        let pixels = PixelBuffer(size: PixelSize(width: Int(width), height: 1), format: .rgb) { memory in
            for index in memory.indices { memory[index] = index % 3 == 1 ? color : 0 }
        }
        return WebImage(pixels: pixels!, format: Self.format)
    }
}

@Suite("Decoders of an app")
struct OwnDecoderTests {
    private let folder = TemporaryDirectory()
    private let decoder = DotDecoder()

    private func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.decoders = [decoder]
        change(&configuration)
        return ImageManager(configuration: configuration)
    }

    private func file(_ name: String, _ bytes: [UInt8]) throws -> URL {
        let url = URL(filePath: "\(folder.path)/\(name)")
        try Data(bytes).write(to: url)
        return url
    }

    @Test("A decoder that recognises its bytes is asked without a hint, whatever the file is called")
    func bytes() async throws {
        let url = try file("a.png", Array("DOT!\u{3}".utf8))
        let image = try await manager().image(for: url)
        #expect(image.format == DotDecoder.format && image.pixelSize == PixelSize(width: 3, height: 1))
        let error = await failure(manager(), try file("b.png", Array("DOT!".utf8)))
        #expect(error?.code == .badImageData && error?.reason == "No dot")
        #expect(await failure(manager(), try file("c.png", Array("DOT?\u{3}".utf8)))?.code == .badImageData)
    }

    @Test("Images of other parameters are decoded and cached apart, those of equal ones once")
    func parameters() async throws {
        let (manager, url) = (manager(), try file("a.dot", Array("DOT!\u{3}".utf8)))
        var request = ImageRequest(url: url)
        for (value, count) in [("9", 1), ("200", 2), ("9", 2), ("200", 2)] {
            request.decoderParameters = ["green": value]
            let image = try await manager.image(for: request)
            #expect(image.color(1, 0) == Int(value)! << 8 && decoder.calls.all.count == count)
        }
        #expect(try await manager.image(for: url).color(1, 0) == 0)
        #expect(decoder.calls.all == [["green": "9"], ["green": "200"], [:]])
    }

    @Test("No two sets of parameters have one key")
    func parameterKeys() async throws {
        let (manager, url) = (manager(), try file("a.dot", Array("DOT!\u{3}".utf8)))
        let sets = [["a": "1 1:b=1:2"], ["a": "1", "b": "2"], ["a=1": "1"], ["a": "=1"], ["": ""], ["a": ""]]
        for set in sets {
            var request = ImageRequest(url: url)
            request.decoderParameters = set
            _ = try await manager.image(for: request)
        }
        #expect(decoder.calls.all == sets)
    }

    @Test("A decryptor decrypts files, data and resources as it does what a server sends")
    func decryptor() async throws {
        let png = TestImage.solid(0x336699, size: PixelSize(width: 4, height: 4))
        let secret = png.map { $0 ^ 0x5A }
        let url = try file("secret.bin", secret)
        var request = ImageRequest(url: url)
        let heads = EventLog<ResponseHead>()
        request.networkOptions.decryptor = ImageDecryptor(key: "xor") { data, head in
            heads.add(head)
            return Data(data.map { $0 ^ 0x5A })
        }
        #expect(try await manager().image(for: request).color(1, 1) == 0x336699)
        #expect(heads.all.first?.url == url && heads.all.first?.status == 200)
        request.url = try #require(URL(string: "data:;base64,\(Data(secret).base64EncodedString())"))
        #expect(try await manager().image(for: request).color(1, 1) == 0x336699)
        // Without the decryptor the bytes are no image, and one that gives up says so.
        #expect(await failure(manager(), url)?.code == .badImageData)
        request = ImageRequest(url: url)
        request.networkOptions.decryptor = ImageDecryptor(key: "none") { _, _ in nil }
        let error = await failure(manager(), request)
        #expect(error?.code == .badImageData && error?.url == url && error?.reason.contains("none") == true)
    }

    private func failure(_ manager: ImageManager, _ request: some ImageRequestConvertible) async -> ImageError? {
        do throws(ImageError) {
            _ = try await manager.image(for: request)
            return nil
        } catch {
            return error
        }
    }
}
