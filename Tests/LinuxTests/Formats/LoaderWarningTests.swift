import CWebImageGLib
import FoundationEssentials
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// The messages that gdk-pixbuf logs.
private let messages = EventLog<String>()

@Suite("What the loaders of gdk-pixbuf log", .serialized)
struct LoaderWarningTests {
    @Test("Headers that are refused reach no loader, and none logs a warning")
    func headers() {
        let domains = ["GdkPixbuf", "GLib", "GLib-GObject"]
        let handlers = domains.map { domain in
            g_log_set_handler(
                domain,
                gwi_log_problems,
                { _, _, message, _ in messages.add(String(cString: message!)) },
                nil
            )
        }
        defer { for (domain, handler) in zip(domains, handlers) { g_log_remove_handler(domain, handler) } }
        let netpbm = [
            "P6\n100000 100000\n255\n", "P6\n2147483647 1\n255\n", "P6 99999999999999999999 3 255\n", "P6\n0 0\n255\n",
            "P6\n3 0\n255\n", "P5 # a # b\n#c\n0 5\n255\n", "P4\n99999 99999\n", "P1\n70000 70000\n1",
            "P6\n-1 3\n255\nabc",
            "P6\nx y\n", "P6\n3 3\n0\nabc", "P6\n3 3\n70000\nabc", "P6 3", "P6#", "P3\n2 2\n255\n1 2 x", "P9\n1 1",
        ]
        let tga = [(UInt8(0), UInt8(0)), (255, 255), (255, 0), (0, 1)].map { low, high in
            Data([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, low, high, low, high, 24, 0]) + Data("abcabc".utf8)
        }
        for file in netpbm.map({ Data($0.utf8) }) + tga {
            var options = DecodeOptions()
            options.formatHint = ImageFormat(rawValue: "image/x-tga")
            #expect(throws: ImageError.self, "\(String(decoding: file, as: UTF8.self))") {
                try PixbufCoder().decode(file, options: options)
            }
        }
        #expect(messages.all == [])
    }

    @Test("A Netpbm image that lacks pixels is an error", arguments: 1...6)
    func truncated(kind: Int) throws {
        let samples = kind % 3 == 0 ? 5 * 3 * 3 : 5 * 3
        let pixels =
            switch kind {
            case 1: "10101\n01010\n11111"
            case 2, 3: Array(repeating: "7", count: samples).joined(separator: " ")
            case 4: "abc"
            default: String(repeating: "a", count: samples)
            }
        let file = Data("P\(kind) # x\n5 3\n\(kind % 3 == 1 ? "" : "255\n")\(pixels)".utf8)
        let image = try PixbufCoder().decode(file, options: DecodeOptions())
        #expect(image.pixelSize == PixelSize(width: 5, height: 3))
        for missing in 1...pixels.utf8.count {
            #expect(throws: ImageError.self, "\(missing)") {
                try PixbufCoder().decode(Data(file.dropLast(missing)), options: DecodeOptions())
            }
        }
    }
}
