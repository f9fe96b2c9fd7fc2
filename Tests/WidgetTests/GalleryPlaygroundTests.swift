import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@testable import webimage_gallery

/// The page Try a URL, which loads an image as one chooses and writes the Swift for that.
@Suite("The playground of the gallery", .blocking, .serialized)
@MainActor
struct GalleryPlaygroundTests {
    private nonisolated static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test("Each choice loads with the very Swift that it shows")
    func choices() throws {
        let file = Self.root.appending(path: "Demo/Gallery/Pages/Playground.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        let choices = source.matches(of: /Choice\(tr\("[^"]*"\), #?"(.*)"#?, value: (.*)\),\n/)
        #expect(choices.count == Playground.settings.reduce(0) { $0 + $1.titles.count })
        for choice in choices { #expect(choice.1 == choice.2) }
    }

    @Test("The Swift and the request have each choice once, and nothing of a default")
    func choice() throws {
        let url = try #require(URL(string: "https://example.org/a.jpg"))
        let codes = [
            Playground.placeholders.map(\.code), Playground.transformers.map(\.code),
            Playground.transitions.map(\.code), Playground.sizes.map(\.code), Playground.priorities.map(\.code),
        ]
        for (setting, codes) in zip(Playground.settings, codes) {
            for number in codes.indices {
                var playground = Playground()
                playground[keyPath: setting.number] = number
                let code = playground.code(for: url)
                #expect(code.ranges(of: codes[number]).count == (number == 0 ? 0 : 1), "\(code)")
                let request = playground.makeRequest(for: url)
                #expect(request.priority == Playground.priorities[playground.priority].value)
                #expect(request.decodeSize == Playground.sizes[playground.size].value)
                #expect(request.transformer == Playground.transformers[playground.transformer].value)
            }
        }
    }

    /// Enough combinations for each choice to be in one of them.
    private nonisolated static let combinations = 0..<6

    @Test("The program that it copies compiles, whatever is chosen", arguments: combinations)
    func compiles(number: Int) throws {
        var playground = Playground()
        for setting in Playground.settings {
            #expect(setting.titles.count <= Self.combinations.count)
            playground[keyPath: setting.number] = number % setting.titles.count
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "main.swift")
        let url = try #require(URL(string: "https://example.org/a%20b.jpg?q=%22\\(1)%22"))
        try playground.program(for: url).write(to: file, atomically: true, encoding: .utf8)
        let build = try Compiler.check(file)
        #expect(build.exitCode == 0 && build.output.isEmpty, "\(build.output)")
    }

    @Test("A choice changes the image at once")
    func chosen() throws {
        let screen = try GalleryScreen(["--page", "links", "--size", "1000x720"])
        #expect(screen.hasWindow("Try a URL") && screen.isDrawn, "\(screen.output)")
        let size = PixelSize(width: 320, height: 320)
        let options = DecodeOptions(size: .cover(size))
        let image = try WebImage(data: ShippedImage.data("astronaut.jpg"), options: options)
        let grey = try #require(ImageTransformer.grayscale.transform(image))
        #expect(try screen.eventuallyShows { $0.count(of: image, size: size) == 1 })
        // When one goes four rows down in the list of transformers
        screen.click(x: 395, y: 178)
        for key in ["Down", "Down", "Down", "Down", "Return"] { screen.press(key) }
        #expect(try screen.eventuallyShows { $0.count(of: grey, size: size) == 1 }, "\(screen.output)")
    }
}
