import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The pages of the gallery", .blocking, .serialized)
struct GalleryPageTests {
    /// The names of the pages, as the help text lists them.
    static let pages: [String] = {
        let help = (try? ChildProcess.run(Program.gallery, ["--help"]).output) ?? ""
        let text = help.replacing(/\s+/, with: " ")
        guard let names = text.firstMatch(of: /The page to show at first: ([a-z, ]+)\./) else { return [] }
        return names.1.split(separator: ", ").map(String.init)
    }()

    @Test("The help text lists all pages")
    func count() {
        #expect(Self.pages.count >= 15, "\(Self.pages)")
    }

    @Test(
        "Each page settles and shows its images, also in a dark window of 360 pixels, and each of its controls has a name",
        arguments: pages
    )
    func page(name: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-page-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // All images of the page are to be seen.
        let wide = name == "transformers" ? "1000x900" : "1000x720"
        let runs: [(GalleryDisplay, String, Bool)] = [(.xvfb, wide, false), (.forScrolling, "360x640", true)]
        for (display, size, isNarrow) in runs {
            let file = folder.appending(path: "\(size).tiff")
            let trace = folder.appending(path: "\(size).trace")
            let arguments =
                ["--page", name, "--size", size, "--screenshot", file.path(), "--trace", trace.path()]
                + (isNarrow ? ["--dark"] : [])
            let cache = ["--cache-dir", folder.appending(path: "cache").path()]
            let result = try display.runGallery(arguments + cache)
            #expect(result.exitCode == 0, "\(result.output)")
            #expect(result.output.warnings.isEmpty, "\(result.output)")
            let picture = try WebImage(contentsOf: file)
            // No content is wider than the window, whose frame takes ten pixels on X.
            #expect(!isNarrow || (picture.pixelSize.width <= 360 && picture.pixelSize.height <= 640))
            // Images have thousands of colours, text on a solid background a few hundred.
            let least = ["prefetching": 20, "failures": 20][name] ?? 1000
            let count = picture.colors().count
            #expect(count > least, "\(count) colours at \(size)")
            let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
            if isNarrow {
                let controls = lines.filter { $0.hasPrefix("control ") }
                let unnamed = controls.filter { $0.hasSuffix(" unnamed") }
                // The list has a row for each page, and the headers have five buttons.
                #expect(controls.count > Self.pages.count + 5 && unnamed.isEmpty, "\(name): \(unnamed)")
                continue
            }
            if name == "progressive" {
                let count = lines.compactMap { $0.wholeMatch(of: /partial images (\d+)/) }.compactMap { Int($0.1) }
                #expect(try #require(count.first) >= 5)
            }
            for image in Self.images[name] ?? [] {
                let data = ShippedImage.data(image.file)
                let decoded = try CoderRegistry.builtIn.decode(data, options: DecodeOptions(size: .cover(image.size)))
                let expected = image.transformer?.transform(decoded) ?? decoded
                let count = picture.count(of: expected, size: image.size, tolerance: image.tolerance)
                #expect(count == image.count, "\(image.file)")
            }
        }
    }

    /// An image that a page shows, and how often.
    private struct Shown {
        let file: String
        let size: PixelSize
        let count: Int
        var tolerance = 13
        let transformer: ImageTransformer?

        init(_ file: String, _ width: Int, _ height: Int, count: Int = 1, _ transformer: ImageTransformer? = nil) {
            (self.file, size, self.count) = (file, PixelSize(width: width, height: height), count)
            self.transformer = transformer
        }

        /// The same image where a theme makes its place a pixel larger, which shows at the edges of a mosaic.
        var roughly: Self {
            var copy = self
            copy.tolerance = 40
            return copy
        }
    }

    /// What the pages promise to show: still images, in the boxes of the pages.
    private static let images: [String: [Shown]] = [
        "wall": ["dusk-mountains.jpg", "sea-waves.jpg", "coffee.jpg", "lighthouse.jpg", "raccoon.jpg"].map {
            Shown($0, 177, 119)
        },
        "buttons": [
            Shown("dusk-mountains.jpg", 98, 62), Shown("citrus.webp", 98, 74), Shown("moonlit-lake.jpg", 98, 62),
            Shown("desert-dunes.jpg", 98, 62, count: 0),
        ],
        "accessibility": [Shown("lighthouse.jpg", 152, 114), Shown("moonlit-lake.jpg", 152, 114)],
        "caches": ["astronaut.jpg", "aurora.webp", "autumn-trees.jpg", "balloons.jpg"].map { Shown($0, 108, 81) },
        "placeholders": [Shown("desert-dunes.jpg", 152, 114, count: 5)],
        "transitions": [Shown("moonlit-lake.jpg", 156, 117, count: 8)],
        "transformers": [
            // As it is, and with round corners
            Shown("astronaut.jpg", 128, 128, count: 2), Shown("astronaut.jpg", 128, 128, .blur(8)),
            Shown("astronaut.jpg", 128, 128, .grayscale), Shown("astronaut.jpg", 128, 128, .sepia),
            Shown("astronaut.jpg", 128, 128, .brightness(0.25)), Shown("astronaut.jpg", 128, 128, .contrast(1.6)),
            Shown("astronaut.jpg", 128, 128, .flip(horizontally: true)),
            // Upright, whatever the EXIF orientation of the file
            Shown("lighthouse.jpg", 76, 57, count: 8),
        ],
        "links": [Shown("astronaut.jpg", 320, 320)],
        "progressive": [Shown("balloons.jpg", 300, 200, count: 2)],
        // A server has scaled and encoded it again.
        "sizes": [Shown("dusk-mountains.jpg", 240, 150).roughly],
        // The truncated file and the others that fail show none of it.
        "failures": [Shown("autumn-trees.jpg", 152, 114, count: 0)],
    ]

    @Test("With the keyboard one can search a page, open the next one, list the shortcuts and quit")
    func keys() throws {
        let screen = try GalleryScreen(["--page", "buttons"])
        #expect(screen.hasWindow("Buttons and icons") && screen.isDrawn, "\(screen.output)")
        screen.press("ctrl+f")
        screen.type("megapixels")
        screen.press("Return")
        #expect(screen.hasWindow("Zoom"), "\(screen.output)")
        // A search without results does not keep one from the other pages.
        screen.press("ctrl+f")
        screen.type("nothing of the kind")
        screen.press("Return")
        screen.press("ctrl+Prior")
        #expect(screen.hasWindow("Caches"))
        screen.press("ctrl+Next")
        #expect(screen.hasWindow("Zoom"))
        screen.press("ctrl+question")
        // GTK 4.18 loses keys that are pressed while the window opens or closes.
        let hasQuit = EventLog<Int>.poll(pause: 50_000) {
            screen.press("Escape")
            screen.press("ctrl+q")
            return !screen.hasAnyWindow
        }
        #expect(hasQuit)
    }

    /// The same content has the same pixels then. With cairo they depend on what was drawn anew.
    private static let exactDrawing = ["GSK_RENDERER": "opengl"]

    @Test(
        "Enter opens the page that was typed, however soon it is pressed, in a narrow window too",
        arguments: [1000, 360]
    )
    func search(width: Int) throws {
        let screen = try GalleryScreen(["--page", "wall", "--size", "\(width)x640"])
        #expect(screen.hasWindow("Wall") && screen.isDrawn, "\(screen.output)")
        // The words stand in one title only, in a title and in the summary of a page before it, or in a summary only.
        let searches = [
            ("Try a URL", "Try a URL"), ("Errors and retry", "errors and retry"), ("Caches", "caches"),
            ("Zoom", "megapixels"), ("Wall", "wall"), ("Sizes and density", "density"),
            ("Prefetching", "prefetching"),
        ]
        for (title, text) in searches + searches {
            #expect(screen.openPage(title, searching: text), "\(text) \(screen.output)")
        }
    }

    /// Whether two screenshots differ in two rows at most. A frame of GTK 4.24 has a pixel more beside an image at times, and the
    /// mark of the focus is higher.
    private static func areAlike(_ first: Data, _ second: Data) -> Bool {
        let length = first.count / 900
        return first.withUnsafeBytes { first in
            second.withUnsafeBytes { second in
                (0..<900).map { $0 * length }
                    .count { memcmp(first.baseAddress! + $0, second.baseAddress! + $0, length) != 0 }
            }
        } < 3
    }

    @Test("Tab reaches each control of the window once, from either end, and opens no page")
    func tab() throws {
        let screen = try GalleryScreen(["--page", "buttons"], isAnimated: false, environment: Self.exactDrawing)
        #expect(screen.hasWindow("Buttons and icons") && screen.isDrawn, "\(screen.output)")
        // When Tab is pressed until the window looks as after the first time
        for key in ["Tab", "shift+Tab"] {
            var seen = [try screen.settledPixels()]
            repeat {
                screen.press(key)
                seen.append(try screen.settledPixels(after: seen.last))
            } while seen.count < 20 && (seen.count < 3 || !Self.areAlike(seen[1], seen[seen.count - 1]))
            // Then each control had the focus once: five buttons of the headers, the open page, and six controls of the page
            let round = seen.dropFirst().dropLast()
            let isEachOnce = round.indices.allSatisfy { index in
                !round[(index + 1)...].contains { Self.areAlike($0, round[index]) }
            }
            #expect(round.count == 12 && isEachOnce, "\(round.count)")
        }
        #expect(screen.hasWindow("Buttons and icons"))
    }

    @Test(
        "Tab leads through the inspector beside a page, and past the cells and rows of lists",
        // The number of controls from the header to the search: those of the page are the last but twelve, or thirteen without requests.
        arguments: [("prefetching", "Prefetching", 20), ("links", "Try a URL", 24), ("wall", "Wall", 18)]
    )
    func tabInInspector(page: String, title: String, count: Int) throws {
        let screen = try GalleryScreen(["--page", page, "--inspector"])
        #expect(screen.hasWindow(title) && screen.isDrawn, "\(screen.output)")
        // An image in the second row of the wall moves, and so does the frame meter of the inspector.
        try screen.settledPixels(rows: 0..<150)
        for _ in 0..<count { screen.press("Tab") }
        // Then the button that searches has the focus.
        screen.press("space")
        screen.type("zoom")
        screen.press("Return")
        #expect(screen.hasWindow("Zoom"), "\(screen.output)")
    }

    @Test(
        "The list of pages goes at one width of the window, whatever the page",
        // Pages with the highest and the lowest least widths
        arguments: ["transformers", "compare", "wall", "zoom"]
    )
    func folding(page: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-fold-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let trace = folder.appending(path: "trace")
        for (width, hasList, hasName) in [(680, false, false), (740, true, false), (900, true, true)] {
            let result = try GalleryDisplay.xvfb.runGallery([
                "--page", page, "--size", "\(width)x600", "--screenshot-after", "0", "--trace", trace.path(),
                "--screenshot", folder.appending(path: "window.tiff").path(),
                "--cache-dir", folder.appending(path: "cache").path(),
            ])
            #expect(result.exitCode == 0 && result.output.warnings.isEmpty, "\(result.output)")
            let texts = Set(try String(contentsOf: trace, encoding: .utf8).split(separator: "\n"))
            #expect(texts.contains("text Accessibility") == hasList, "\(width)")
            // The button of the line has its name where there is room.
            #expect(texts.contains("text Office") == hasName, "\(width)")
        }
    }

    @Test("With the mouse one can scroll the wall and open an image, and Escape goes back")
    func mouse() throws {
        let screen = try GalleryScreen(["--page", "wall"])
        #expect(screen.hasWindow("Wall") && screen.isDrawn, "\(screen.output)")
        let isFull = EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors().count) ?? 0 > 5000 }
        #expect(isFull)
        let top = try screen.photograph().colors(x: 260..<960, y: 200..<640)
        for _ in 0..<8 { screen.click(x: 600, y: 450, button: 5) }
        #expect(
            EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors(x: 260..<960, y: 200..<640)) != top }
        )
        screen.click(x: 600, y: 450)
        // The number of images is gone below a large image.
        let (x, y) = (270..<440, 678..<702)
        #expect(EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors(x: x, y: y).count) ?? 99 < 5 })
        screen.press("Escape")
        #expect(EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors(x: x, y: y).count) ?? 0 > 10 })
    }

    @Test("The wheel zooms into 58 megapixels below the pointer, a drag moves it, and 0 shows all of it again")
    func zooming() throws {
        let screen = try GalleryScreen(
            ["--page", "zoom", "--size", "1000x720"],
            environment: Self.exactDrawing
        )
        #expect(screen.hasWindow("Zoom") && screen.isDrawn, "\(screen.output)")
        let (x, y) = (320..<940, 300..<680)
        let isThere = EventLog<Int>.poll(pause: 50_000) {
            (try? screen.photograph().colors(x: x, y: y).count) ?? 0 > 2000
        }
        #expect(isThere)
        let whole: [UInt32: Int] = try screen.photograph().colors(x: x, y: y)
        func hasChanged(from old: [UInt32: Int]) -> Bool {
            EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors(x: x, y: y)) != old }
        }
        for _ in 0..<10 { screen.click(x: 600, y: 450, button: 4) }
        #expect(hasChanged(from: whole))
        let near: [UInt32: Int] = try screen.photograph().colors(x: x, y: y)
        screen.drag(from: (700, 500), to: (500, 400))
        #expect(hasChanged(from: near))
        screen.press("0")
        #expect(EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors(x: x, y: y)) == whole })
    }

    @Test("What has been prefetched is shown when it is wanted")
    func prefetched() throws {
        let trace = FileManager.default.temporaryDirectory.appending(path: "gwi-prefetched-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: trace) }
        let screen = try GalleryScreen(["--page", "prefetching", "--size", "1000x720", "--trace", trace.path()])
        func says(_ text: String) -> Bool {
            EventLog<Int>.poll(pause: 50_000) {
                (try? String(contentsOf: trace, encoding: .utf8))?.contains("text \(text)\n") ?? false
            }
        }
        #expect(screen.hasWindow("Prefetching") && screen.isDrawn, "\(screen.output)")
        let data = ShippedImage.data("autumn-trees.jpg")
        let size = PixelSize(width: 120, height: 90)
        let image = try CoderRegistry.builtIn.decode(data, options: DecodeOptions(size: .cover(size)))
        // When one clicks on "To memory and disk", then nothing is shown until one clicks on "Show some of them"
        screen.click(x: 361, y: 131)
        #expect(says("loaded 24, failed 0, cancelled 0"), "\(screen.output)")
        #expect(try screen.photograph().count(of: image, size: size) == 0)
        screen.click(x: 752, y: 131)
        #expect(says("The images came from: memory 8"), "\(screen.output)")
        #expect(try screen.eventuallyShows { $0.count(of: image, size: size) == 1 })
    }

    @Test("A click on a failed image retries it")
    func retry() throws {
        let screen = try GalleryScreen(["--page", "failures"])
        #expect(screen.hasWindow("Errors and retry") && screen.isDrawn, "\(screen.output)")
        let (x, y) = (330..<500, 120..<225)
        #expect(EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors(x: x, y: y).count) ?? 0 > 1 })
        #expect(try screen.photograph().colors(x: x, y: y).count < 200)
        let isThere = EventLog<Int>.poll(pause: 50_000) {
            screen.click(x: 413, y: 173)
            return (try? screen.photograph().colors(x: x, y: y).count) ?? 0 > 1000
        }
        #expect(isThere)
    }
}

extension String {
    /// The warnings in the output of a program, without those that newer versions of GTK give of themselves.
    var warnings: [Substring] {
        // GTK 4.24 warns of its own Broadway, and since 4.18 of AdwLeaflet, which gives a page less than its least width while it
        // folds.
        let known = ["gdk_frame_timings_submitted", "Trying to measure AdwHeaderBar"]
        return split(separator: "\n").filter { line in
            line.contains("WARNING") && !known.contains { line.contains($0) }
        }
    }
}
