import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux

/// Runs the GIF test suite of Robert Ancell, which Debian's gdk-pixbuf-tests installs.
@Suite("The GIF test suite")
struct GIFSuiteTests {
    private static let folder = InstalledImages.folder + "/test-images/gif-test-suite"

    /// The names in the suite's own list, without those that it comments out, since programs disagree about them.
    private static let names: [String] = {
        let list = (try? String(contentsOfFile: "\(folder)/TESTS", encoding: .utf8)) ?? ""
        return list.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    }()

    /// Parses a configuration into sections of keys and values.
    private static func read(_ name: String) throws -> [String: [String: String]] {
        let text = try String(contentsOfFile: "\(folder)/\(name).conf", encoding: .utf8)
        var sections: [String: [String: String]] = [:]
        var section = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") {
                section = String(line.dropFirst().dropLast())
            } else if let equals = line.firstIndex(of: "=") {
                let key = line[..<equals].filter { $0 != " " }
                sections[section, default: [:]][String(key)] = String(
                    line[line.index(after: equals)...].drop { $0 == " " }
                )
            }
        }
        return sections
    }

    @Test("The suite is installed")
    func isInstalled() {
        #expect(Self.names.count > 60, "Tests/run installs gdk-pixbuf-tests")
    }

    @Test("Every frame has the pixels and the duration that the suite states", arguments: names)
    func conforms(name: String) throws {
        let sections = try Self.read(name)
        let config = try #require(sections["config"])
        let data = try Data(contentsOf: URL(filePath: "\(Self.folder)/\(name).gif"))
        let frames = config["frames"].map { $0.split(separator: ",").map(String.init) } ?? []
        guard !frames.isEmpty else {
            // The suite does not state what these show.
            _ = try? GIFCoder().decode(data, options: DecodeOptions())
            return
        }
        let image = try GIFCoder().decode(data, options: DecodeOptions())
        #expect(image.frameCount == frames.count)
        let decoder = image.animation?.makeDecoder()
        for (index, frame) in frames.enumerated() {
            let pixels = try decoder?.frame(at: index) ?? image.pixels
            let file = try #require(sections[frame]?["pixels"])
            let expected = try Data(contentsOf: URL(filePath: "\(Self.folder)/\(file)"))
            #expect(pixels.straightAlpha == Array(expected), "frame \(index)")
            if let delay = sections[frame]?["delay"].flatMap({ Int($0) }), let animation = image.animation {
                #expect(animation.durations[index] == .milliseconds(delay * 10))
            }
        }
        // GIF87a has no loop count. The suite plays it forever, browsers play it once.
        if image.animation != nil, let count = config["loop-count"], name != "gif87a-animation" {
            #expect(image.loopCount == (count == "infinite" ? 0 : (Int(count) ?? 0) + 1))
        }
    }
}

/// The images that Debian's gdk-pixbuf-tests installs.
enum InstalledImages {
    static let folder = "/usr/libexec/installed-tests/gdk-pixbuf"

    /// The files of a folder, without those that gdk-pixbuf has taken out of its own tests.
    static func names(in name: String) -> [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(name)")) ?? []
        return all.filter { !$0.hasSuffix(".disabled") }.sorted()
    }

    static func data(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: "\(folder)/\(name)")) }
}
