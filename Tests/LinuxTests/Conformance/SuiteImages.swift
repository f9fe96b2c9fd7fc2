import Foundation
import WebImageTesting

/// The images with which other projects test their decoders, which Tests/corpus/fetch has fetched, and what Pillow and
/// libheif decode from them (Tests/corpus/reference).
struct SuiteImages: Sendable {
    struct Entry: Decodable, Sendable {
        struct Frame: Decodable {
            /// Where the rows of the frame begin in the file of all pixels.
            let offset: Int
            let hasAlpha: Bool
        }

        /// The path in the folder of the images.
        let file: String
        /// The name of the format, by its usual file extension.
        let format: String
        let width: Int?
        let height: Int?
        /// The number of frames of an animation, 1 for a still image, and 0 if the other decoder refuses the file.
        let frameCount: Int
        /// The first frames.
        let frames: [Frame]
    }

    private static let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    private static let folder = root + "/.build/corpora"

    /// Whether Tests/corpus/fetch has fetched any images.
    static let areFetched = !((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).isEmpty

    /// Whether the other decoders are those whose differences are listed.
    static let haveListedDecoders: Bool = {
        let script = "import PIL; print(PIL.__version__)"
        return (try? ChildProcess.run("/usr/bin/python3", ["-c", script]))?.output.hasPrefix("9.4.") ?? false
    }()

    static let shared = Result { try SuiteImages() }

    let entries: [Entry]
    /// The rows of all frames: red, green, blue and, if the frame has it, alpha, by which the colours are multiplied.
    let pixels: Data

    private init() throws {
        let output = TemporaryDirectory()
        let result = try ChildProcess.run(
            Self.root + "/Tests/corpus/reference",
            [Self.folder, output.path]
        )
        guard result.exitCode == 0 else { throw CorpusError(description: result.output) }
        let list = try Data(contentsOf: URL(filePath: output.path + "/images.json"))
        entries = try JSONDecoder().decode([Entry].self, from: list)
        // The mapping outlives the file.
        pixels = try Data(contentsOf: URL(filePath: output.path + "/pixels"), options: .alwaysMapped)
    }

    static func data(_ entry: Entry) throws -> Data { try data(file: entry.file) }

    static func data(file: String) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(folder)/\(file)"))
    }

    /// The differences that are known of the packages that are there: the kind of each by the path of its file.
    static func listedDifferences() throws -> [String: String] {
        let text = try String(contentsOfFile: root + "/Tests/corpus/differences", encoding: .utf8)
        var differences: [String: String] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2, let package = words[1].split(separator: "/").first else {
                throw CorpusError(description: "Tests/corpus/differences: \(line)")
            }
            guard FileManager.default.fileExists(atPath: "\(folder)/\(package)") else { continue }
            differences[String(words[1])] = String(words[0])
        }
        return differences
    }

    private struct CorpusError: Error, CustomStringConvertible {
        let description: String
    }
}
