import ArgumentParser
import Foundation
import GtkWebImage

/// The options of the command line.
struct GalleryOptions: ParsableArguments {
    @Option(
        help: """
            The page to show at first: \(Self.pageNames.joined(separator: ", ")). Default: compare, or wall with an option for it.
            """
    )
    var page: String?

    @Option(help: "A text file with one URL per line, to show instead of the bundled images.")
    var urlList: String?

    @Flag(help: "Show photographs from the internet on the wall.")
    var online = false

    @Option(help: "The number of images on the wall when the bundled ones are shown.")
    var count = 1200

    @Option(help: "The folder of the bundled images.")
    var images = ImageServer.standardFolder

    @Option(help: "The folder of the disk cache. Default: $XDG_CACHE_HOME/org.gtkwebimage.Gallery/web-images/default.")
    var cacheDir: String?

    @Option(help: "Open the image with this number, counted from 0, as a click on it would.")
    var open: Int?

    @Option(help: "Save a screenshot of the window as PNG once all visible images are loaded, and quit.")
    var screenshot: String?

    @Option(help: "Save the screenshot this many seconds after the first frame, instead of waiting for the images.")
    var screenshotAfter: Double?

    @Option(
        help: "Width and height of the window in application pixels. Default: 1000x720; in a browser the whole page."
    )
    var size: String?

    @Option(help: "The number of device pixels per application pixel, 1 or 2, if the display does not define it.")
    var scale: Int?

    @Flag(help: "Use the dark style regardless of the desktop.")
    var dark = false

    @Flag(help: "Show the source of the page beside it.")
    var source = false

    @Flag(help: "Show the inspector beside the page.")
    var inspector = false

    @Option(help: "The line to the gallery's server: \(LinePreset.allCases.map(\.rawValue).joined(separator: ", ")).")
    var line = LinePreset.office

    @Option(help: "Quit after this number of seconds.")
    var exitAfter: Double?

    @Option(
        help: """
            Fling the wall for this number of seconds, print what was measured, and quit.
            """
    )
    var fling: Double?

    /// Without it a test could not tell a check that finds nothing from one that looks at nothing.
    @Flag(help: .hidden)
    var wrongImages = false

    @Flag(help: "Scroll the wall from top to bottom, each screen once it is loaded, and quit.")
    var scrollThrough = false

    @Option(
        help: """
            Write to this file which image each cell shows: a line for each change, and one for each cell at rest. Lines for \
            each control and text, for the source if it is shown, and for what was requested of the gallery's server follow.
            """
    )
    var trace: String?

    @Flag(help: "Run on an Xvfb display without a screen, as the tests do.")
    var headless = false

    func validate() throws {
        func check(_ isValid: Bool?, _ message: String) throws {
            if isValid == false { throw ValidationError(message) }
        }
        let pages = Self.pageNames.joined(separator: ", ")
        let isSize = size.map(Self.numbers).map { $0.count == 2 && $0.allSatisfy((1...Self.longestSide).contains) }
        let times = 0...Self.longestTime
        try check((1...Self.largestCount).contains(count), "--count must be a number from 1 to \(Self.largestCount).")
        try check(open.map { $0 >= 0 }, "--open must be the number of an image, from 0.")
        for (time, name) in [(screenshotAfter, "screenshot-after"), (exitAfter, "exit-after")] {
            try check(time.map(times.contains), "--\(name) must be a number of seconds, at most \(Self.longestTime).")
        }
        try check(Self.pageNames.contains(firstPage), "There is no page \(firstPage). Choose one of \(pages).")
        try check(isSize, "--size must be WIDTHxHEIGHT, for example 1000x720, up to \(Self.longestSide).")
        try check(
            fling.map { $0 > 0 && $0 <= Self.longestFling },
            "--fling must be a number of seconds above 0, at most \(Int(Self.longestFling))."
        )
        try check(fling == nil || firstPage == "wall", "--fling is for the page wall.")
        try check(scale.map { $0 == 1 || $0 == 2 }, "--scale must be 1 or 2.")
        try validateFiles()
    }

    /// A wall of more images takes gigabytes for their URLs.
    private static let largestCount = 1_000_000
    /// No display shows a longer window, in pixels.
    private static let longestSide = 16_384
    /// An hour, in seconds.
    private static let longestFling = 3600.0
    /// A year, in seconds.
    private static let longestTime = 31_536_000.0

    /// Says what to do about a folder or a file that cannot be read, before a window opens.
    private func validateFiles() throws {
        if let urlList {
            guard let feed = try? URLListFeed(path: urlList) else {
                throw ValidationError("The list \(urlList) cannot be read. Pass a text file to --url-list.")
            }
            guard !feed.urls.isEmpty else {
                throw ValidationError("There is no URL in \(urlList). Write one a line.")
            }
        }
        guard FileManager.default.isReadableFile(atPath: images) else {
            throw ValidationError("\(NoImages(folder: images))")
        }
    }

    /// The page to show at first.
    var firstPage: String {
        let isForWall = urlList != nil || online || open != nil || fling != nil || scrollThrough || line != .office
        return page ?? (isForWall ? "wall" : "compare")
    }

    /// The size of the window in application pixels.
    var windowSize: (width: Int, height: Int) {
        let numbers = size.map(Self.numbers) ?? [1000, 720]
        return (numbers[0], numbers[1])
    }

    private static func numbers(_ size: String) -> [Int] { size.split(separator: "x").compactMap { Int($0) } }

    private static var pageNames: [String] { MainActor.assumeIsolated { Page.all.map(\.id) } }
}
