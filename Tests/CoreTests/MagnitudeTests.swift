import FoundationEssentials
import Testing

@testable import WebImageCore

@Suite("Numbers in messages")
struct MagnitudeTests {
    @Test(
        "Bytes are written in the largest binary unit",
        arguments: [
            (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"),
            (10_752, "11 KiB"), (10_000, "9.8 KiB"), (65_536, "64 KiB"), (1_048_575, "1 MiB"), (134_217_728, "128 MiB"),
            (5_368_709_120, "5 GiB"), (Int.max, "8 EiB"),
        ]
    )
    func bytes(count: Int, text: String) {
        #expect("\(Magnitude.bytes(count))" == text)
    }

    @Test(
        "Pixels are written in megapixels from a million on",
        arguments: [
            (1, "1 pixel"), (640, "640 pixels"), (1_000_000, "1 megapixel"), (2_350_000, "2.4 megapixels"),
            (134_217_728, "134 megapixels"), (3_600_000_000, "3600 megapixels"),
        ]
    )
    func pixels(count: Int, text: String) {
        #expect("\(Magnitude.pixels(count))" == text)
    }

    @Test("The reasons of errors name limits in these units")
    func reasons() {
        let large = #expect(throws: ImageError.self) {
            try DecodeOptions().checkLimits(PixelSize(width: 60_000, height: 60_000))
        }
        let text = "The image has 60000x60000 pixels (3600 megapixels), more than the limit of 134 megapixels"
        #expect(large?.reason == text)
        let stored = StoreFailure.tooLarge(limit: 32 << 20).error(URL(string: "https://example.org/a")!)
        #expect(stored.reason == "The disk cache keeps no image of more than 32 MiB, a quarter of its limit")
    }
}
