import FoundationEssentials
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// The order in which a manager asks its loaders, decoders and encoders.
struct RegistryTests {
    private let url = URL(string: "http://host/a.png")!
    private let png = TestImage.solid(1, size: PixelSize(width: 1, height: 1))

    @Test("The loaders of a configuration are asked in its order, before the library's and after one that is added")
    func loaders() {
        let (first, second, added) = (FakeLoader(), FakeLoader(), FakeLoader())
        let loaders = ImageManager.testing(first) { $0.loaders = [first, second] }.loaders
        #expect(loaders.loader(for: url) as? FakeLoader === first)
        loaders.add(added)
        #expect(loaders.loader(for: url) as? FakeLoader === added)
    }

    @Test("The decoders of a configuration are asked in its order, before the library's and after one that is added")
    func decoders() throws {
        let own = [NamedCoder("first"), NamedCoder("second")]
        let coders = ImageManager.testing(FakeLoader()) { $0.decoders = own }.coders
        func name() throws -> [String?] {
            let found: [(any ImageDecoding)?] = [try coders.decoder(for: png, url: nil), coders.decoder(for: .png)]
            return found.map { ($0 as? NamedCoder)?.name }
        }
        #expect(try name() == ["first", "first"])
        coders.add(NamedCoder("added"))
        #expect(try name() == ["added", "added"])
        #expect(coders.decoder(for: .jpeg) != nil)
    }

    @Test("The encoders of a configuration are asked in its order, before the library's and after one that is added")
    func encoders() {
        let own = [NamedCoder("first"), NamedCoder("second")]
        let coders = ImageManager.testing(FakeLoader()) { $0.encoders = own }.coders
        var name: String? { (coders.encoder(for: .png) as? NamedCoder)?.name }
        #expect(name == "first")
        coders.add(NamedCoder("added"))
        #expect(name == "added")
        #expect(coders.encoder(for: .jpeg) != nil)
    }
}

/// A coder of PNG that fails and is recognised by its name.
private struct NamedCoder: ExtendedDecoding, ImageEncoding {
    let name: String

    init(_ name: String) {
        self.name = name
    }

    func canDecode(_ format: ImageFormat) -> Bool { format == .png }

    func canEncode(_ format: ImageFormat) -> Bool { format == .png }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        throw ImageError(.badImageData, url: nil, reason: name, remedy: "none")
    }

    func encode(_ pixels: PixelBuffer, as format: ImageFormat, options: EncodeOptions) throws(ImageError) -> Data {
        throw ImageError(.encodingFailed, url: nil, reason: name, remedy: "none")
    }
}
