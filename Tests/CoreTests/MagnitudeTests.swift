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

    @Test(
        "Bytes and the limit that they exceed have one unit, and are exact when they would be rounded alike",
        arguments: [
            (65_537, 65_536, "65537 bytes > 65536 bytes"), (100_000, 65_536, "98 KiB > 64 KiB"),
            (5 << 30, 128 << 20, "5120 MiB > 128 MiB"), (2000, 512, "2000 bytes > 512 bytes"),
            ((128 << 20) + 1, 128 << 20, "134217729 bytes > 134217728 bytes"),
        ]
    )
    func excessBytes(count: Int, limit: Int, text: String) {
        let (count, limit) = Magnitude.bytes(count, exceeding: limit)
        #expect("\(count) > \(limit)" == text)
    }

    @Test(
        "So have pixels",
        arguments: [
            (3_600_000_000, 1 << 27, "3600 megapixels > 134 megapixels"),
            (2_000_000, 900_000, "2000000 pixels > 900000 pixels"),
            ((1 << 27) + 1, 1 << 27, "134217729 pixels > 134217728 pixels"), (2, 1, "2 pixels > 1 pixel"),
        ]
    )
    func excessPixels(count: Int, limit: Int, text: String) {
        let (count, limit) = Magnitude.pixels(count, exceeding: limit)
        #expect("\(count) > \(limit)" == text)
    }

    @Test("The reasons of errors name limits in these units")
    func reasons() {
        let large = #expect(throws: ImageError.self) {
            try DecodeOptions().checkLimits(PixelSize(width: 60_000, height: 60_000))
        }
        let text = "The image has 60000x60000 pixels (3600 megapixels), more than the limit of 134 megapixels"
        #expect(large?.reason == text)
        let larger = #expect(throws: ImageError.self) {
            try DecodeOptions().checkLimits(PixelSize(width: 1 << 14, height: (1 << 13) + 1))
        }
        #expect(
            larger?.reason
                == "The image has 16384x8193 pixels (134234112 pixels), more than the limit of 134217728 pixels"
        )
        let attachment = StoreFailure.attachmentTooLarge(byteCount: 65_537).error(URL(string: "https://example.org/a")!)
        #expect(attachment.reason == "The attachment has 65537 bytes, more than 65536 bytes")
        let stored = StoreFailure.tooLarge(limit: 32 << 20).error(URL(string: "https://example.org/a")!)
        #expect(stored.reason == "The disk cache keeps no image of more than 32 MiB, a quarter of its limit")
    }
}
