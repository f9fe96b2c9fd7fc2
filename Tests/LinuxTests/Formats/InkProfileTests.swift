import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("Profiles of inks and greys")
struct InkProfileTests {
    /// Makes a file of one colour with ImageMagick, which embeds the profile.
    private func file(_ color: String, _ profile: Data?, _ settings: [String], _ name: String) throws -> Data {
        let folder = TemporaryDirectory()
        var arguments = ["-size", "40x30", "xc:\(color)"] + settings
        if let profile {
            try profile.write(to: URL(filePath: "\(folder.path)/profile.icc"))
            arguments += ["-profile", "\(folder.path)/profile.icc"]
        }
        let result = try ChildProcess.run("/usr/bin/convert", arguments + ["\(folder.path)/\(name)"])
        try #require(result.exitCode == 0, "\(result.output)")
        return try Data(contentsOf: URL(filePath: "\(folder.path)/\(name)"))
    }

    private func color(_ file: Data, converts: Bool = true, _ size: DecodeSize = .original) throws -> [Int] {
        var options = DecodeOptions(size: size)
        options.convertsToSRGB = converts
        let image = try CoderRegistry.builtIn.decode(file, options: options)
        let color = image.color(image.pixelSize.width / 2, image.pixelSize.height / 2)
        return [color >> 16, color >> 8 & 255, color & 255]
    }

    private func isClose(_ one: [Int], _ other: [Int]) -> Bool { zip(one, other).allSatisfy { abs($0 - $1) <= 4 } }

    @Test("Inks have the colours of their profile, whole and downsampled", arguments: ["a.jpg", "a.tiff"])
    func inks(name: String) throws {
        let cyan = try file("cmyk(255,0,0,0)", TestProfile.redCyan, ["-colorspace", "CMYK"], name)
        #expect(isClose(try color(cyan), [255, 0, 0]))
        #expect(isClose(try color(cyan, .contain(PixelSize(width: 10, height: 10))), [255, 0, 0]))
        #expect(isClose(try color(cyan, converts: false), [0, 255, 255]))
        let paper = try file("cmyk(0,0,0,0)", TestProfile.redCyan, ["-colorspace", "CMYK"], name)
        #expect(isClose(try color(paper), [255, 255, 255]))
        let black = try file("cmyk(0,0,0,255)", TestProfile.redCyan, ["-colorspace", "CMYK"], name)
        #expect(isClose(try color(black), [0, 0, 0]))
    }

    @Test("Inks without a profile are multiplied", arguments: ["a.jpg", "a.tiff"])
    func inksWithoutProfile(name: String) throws {
        let cyan = try file("cmyk(255,0,0,0)", nil, ["-colorspace", "CMYK"], name)
        #expect(isClose(try color(cyan), [0, 255, 255]))
    }

    @Test("An arriving CMYK JPEG has the colours of the whole one, progressive or not", arguments: ["None", "Plane"])
    func arrivingInks(interlace: String) throws {
        let settings = ["-colorspace", "CMYK", "-interlace", interlace]
        let cyan = try file("cmyk(255,0,0,0)", TestProfile.redCyan, settings, "a.jpg")
        let decoder = try #require(JPEGCoder().makeIncrementalDecoder(for: .jpeg, options: DecodeOptions()))
        try decoder.append(cyan)
        let partial = try #require(decoder.partialImage())
        for image in [partial, try decoder.finish(cyan)] {
            #expect(image.color(20, 15).isClose(to: 0xFF0000))
        }
    }

    @Test("Greys have the levels of their profile", arguments: ["a.png", "a.jpg", "a.tiff"])
    func greys(name: String) throws {
        let grey = try file("gray(128)", TestProfile.linearGrey, ["-colorspace", "Gray", "-depth", "8"], name)
        // Half of the light is level 188 of sRGB (IEC 61966-2-1).
        #expect(isClose(try color(grey), [188, 188, 188]))
        #expect(isClose(try color(grey, converts: false), [128, 128, 128]))
    }
}
