import FoundationEssentials
import TestSupport
import Testing
import WebImageCore

/// The lists are read as the HTML standard says ("Parsing a srcset attribute"), and as the tests of browsers have it
/// (web-platform-tests, parse-a-srcset-attribute).
@Suite("The list of an image's files in HTML")
struct SrcsetTests {
    private static let page = URL(string: "https://host/photos/page.html")!

    private static func file(_ name: String) -> URL { URL(string: "https://host/photos/\(name)")! }

    private func urls(_ srcset: String) -> [String] {
        ImageVariants(src: Self.page, srcset: srcset).urls.map {
            $0.absoluteString.replacing("https://host/photos/", with: "")
        }
    }

    @Test("Widths and densities are read, and URLs are relative to that of the image")
    func descriptors() {
        let widths = ImageVariants(src: Self.page, srcset: "large.jpg 1600w, small.jpg 400w,\n\tmedium.jpg   800w ,")
        let files = [400: Self.file("small.jpg"), 800: Self.file("medium.jpg"), 1600: Self.file("large.jpg")]
        #expect(widths == ImageVariants(url: Self.page, widths: files))
        let densities = ImageVariants(src: Self.page, srcset: "/a.png 1.5x, //other/b.png 2x")
        let others = [1.5: URL(string: "https://host/a.png")!, 2: URL(string: "https://other/b.png")!]
        #expect(densities == ImageVariants(url: Self.page, densities: others))
    }

    @Test(
        "A list is read as browsers read it",
        arguments: [
            ("a, b", ["a"]), ("a,b 2x", ["page.html", "a,b"]), ("a 2x,b 3x", ["page.html", "a", "b"]),
            ("a ,b 2x", ["a", "b"]), (",,, a 2x,,", ["page.html", "a"]), ("a,,,,", ["a"]),
            ("data:image/png,AAA= 2x", ["page.html", "data:image/png,AAA="]),
            // A height goes with a width.
            ("a 100w 50h", ["a"]), ("a 50h", ["page.html"]), ("a 2x 50h", ["page.html"]), ("a 50h 2x", ["page.html"]),
            // The first of equal entries counts.
            ("a 100w, b 100w", ["a"]), ("a 2x, b 2.0x", ["page.html", "a"]), ("a, b 1x", ["a"]),
            // Widths count before densities.
            ("a 2x, b 100w, c", ["b"]),
            // Commas in parentheses belong to what later standards may add.
            ("a 2x (,), b 3x", ["page.html", "b"]), ("a foo(1, 2) 100w, b 200w", ["b"]), ("a (((, b 2x", ["page.html"]),
        ]
    )
    func reading(_ srcset: String, _ expected: [String]) {
        #expect(urls(srcset) == expected)
    }

    @Test(
        "An entry that makes no sense is left out, and the others are read",
        arguments: [
            "0w", "-1w", "+1w", "1.5w", "1e2w", "w", "99999999999999999999w", "x", "-1x", "+1x", "infx", "nanx",
            "0x1px", "1.x",
            "1e999x", "2q", "2", "100w 100w", "100w 2x", "2x 100w", "2x 3x", "100w 1h 1h", "100w 0h", "1w\u{0}", "１w",
            "0x",
        ]
    )
    func nonsense(_ descriptor: String) {
        #expect(urls("bad \(descriptor), good 300w") == ["good"])
    }

    @Test("A list without a file leaves the image's own URL", arguments: ["", " ", ",", " , ,, ", "\n\t\u{C}\r"])
    func empty(_ srcset: String) {
        #expect(urls(srcset) == ["page.html"])
    }

    @Test("Density 0 is no density of a screen, so that the entry is left out")
    func zero() {
        #expect(urls("a 0x, b 2x") == ["page.html", "b"])
    }

    private static let longLists = [
        "many files": (0..<200_000).map { "a\($0) \($0 + 1)w" }.joined(separator: ", "),
        "a long name": String(repeating: "a", count: 1_000_000), "commas": String(repeating: ",", count: 1_000_000),
        "parentheses": "a " + String(repeating: "(", count: 1_000_000),
        "descriptors": "a " + String(repeating: "x ", count: 500_000),
        "the same file": String(repeating: "a 1w 1w,", count: 200_000),
        "a long number": "a " + String(repeating: "9", count: 1_000_000) + "w",
    ]

    @Test(
        "A list of any length and shape is read in a moment, and only its first files are kept",
        arguments: longLists.keys.sorted()
    )
    func hostile(_ shape: String) throws {
        let srcset = try #require(Self.longLists[shape])
        let start = threadTime()
        let urls = urls(srcset)
        #expect((1...64).contains(urls.count))
        #expect(threadTime() - start < .seconds(5))
    }

    @Test("Bytes of any kind are read or left out")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("aw x,()h0123456789.e-+%\u{0}\n💥é&?#/:")
        for _ in 0..<2000 {
            let text = String((0..<40).map { _ in alphabet.randomElement(using: &generator)! })
            #expect(urls(text).count <= 64, "\(text)")
        }
    }
}
