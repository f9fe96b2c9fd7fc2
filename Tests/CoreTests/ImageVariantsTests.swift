import FoundationEssentials
import Testing
import WebImageCore

@Suite("Choosing the file of an image that fits")
struct ImageVariantsTests {
    private static let name = URL(string: "https://host/photo")!

    private static func url(_ name: String) -> URL { URL(string: "https://host/\(name)")! }

    private let widths = ImageVariants(url: name, widths: [800: url("800"), 400: url("400"), 1600: url("1600")])
    private let densities = ImageVariants(url: name, densities: [2: url("2x"), 1.5: url("1.5x"), 3: url("3x")])

    private func choice(_ variants: ImageVariants, _ size: DecodeSize, displayScale: Double? = nil) -> String? {
        variants.rank(for: size, displayScale: displayScale).map { variants.urls[$0].lastPathComponent }
    }

    @Test(
        "The smallest file that is large enough is chosen, else the largest",
        arguments: [(1, "400"), (400, "400"), (401, "800"), (800, "800"), (801, "1600"), (5000, "1600"), (0, "1600")]
    )
    func sizes(_ side: Int, _ expected: String) {
        let box = PixelSize(width: side, height: 10_000)
        for size in [DecodeSize.contain(box), .stretch(box)] { #expect(choice(widths, size) == expected) }
    }

    @Test("A load without a size takes the largest")
    func original() {
        #expect(choice(widths, .original) == "1600")
        #expect(choice(densities, .original) == "3x")
    }

    @Test("The shape of the image decides how wide it is in a box, and it is taken for 3:2 where it is not known")
    func shape() {
        let cell = PixelSize(width: 300, height: 300)
        let row = PixelSize(width: 2000, height: 260)
        let column = PixelSize(width: 1 << 16, height: 200)
        #expect(choice(widths, .contain(cell)) == "400")
        #expect(choice(widths, .cover(cell)) == "800")
        #expect(choice(widths, .contain(row)) == "400")
        #expect(choice(widths, .contain(column)) == "400")
        var known = widths
        known.aspectRatio = 1
        #expect(choice(known, .cover(cell)) == "400")
        known.aspectRatio = 4
        #expect(choice(known, .contain(row)) == "1600")
        for nonsense in [0, -1, Double.nan, .infinity] {
            known.aspectRatio = nonsense
            #expect(choice(known, .cover(cell)) != nil)
        }
    }

    @Test("An image whose memory is limited comes in the file that has the pixels for it")
    func memory() {
        #expect(choice(widths, .within(byteCount: 4 * 600 * 400)) == "800")
        #expect(choice(widths, .within(byteCount: 0)) == "400")
    }

    @Test(
        "Where the files differ in density, the screen decides",
        arguments: [(1, "photo"), (1.25, "1.5x"), (1.5, "1.5x"), (1.5083, "1.5x"), (2, "2x"), (2.5, "3x"), (4, "3x")]
    )
    func screens(_ scale: Double, _ expected: String) {
        let size = DecodeSize.contain(PixelSize(width: 64, height: 64))
        #expect(choice(densities, size, displayScale: scale) == expected)
        #expect(choice(densities, .original, displayScale: scale) == expected)
    }

    @Test("Sizes that no file can have are ignored")
    func nonsense() {
        #expect(ImageVariants(url: Self.name, widths: [0: Self.url("a"), -5: Self.url("b")]).urls == [])
        let odd: [Double: URL] = [0: Self.url("a"), -1: Self.url("b"), .infinity: Self.url("c"), .nan: Self.url("d")]
        #expect(ImageVariants(url: Self.name, densities: odd).urls == [Self.name])
        #expect(choice(ImageVariants(url: Self.name, widths: [:]), .original) == nil)
    }

    @Test("Of a list without end the first 64 files count")
    func limit() {
        let many = Dictionary(uniqueKeysWithValues: (1...1000).map { ($0, Self.url("\($0)")) })
        #expect(ImageVariants(url: Self.name, widths: many).urls.count == 64)
    }
}
