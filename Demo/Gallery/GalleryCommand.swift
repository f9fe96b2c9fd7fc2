import ArgumentParser
import GtkWebImage

/// The command line. `main` is synchronous, as it has to be in a GTK app: an async one gives the main thread away.
@main
struct GalleryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webimage-gallery",
        abstract: "A wall of pictures that come by URL.",
        discussion: """
            Without --url-list the pictures come from a server inside the gallery, which serves those that are shipped \
            with it, each under many URLs.
            """,
        version: "0.1.0"
    )

    @Option(help: "A text file of URLs, one a line, to show instead of the shipped pictures.")
    var urlList: String?

    @Option(help: "The number of pictures on the wall when the shipped ones are shown.")
    var count = 1200

    @Option(help: "The folder of the shipped pictures.")
    var pictures = PictureServer.standardFolder

    @Option(help: "Where the disk cache is. Default: $XDG_CACHE_HOME/org.gtkwebimage.Gallery/web-images/default.")
    var cacheDir: String?

    @Option(help: "Open the picture with this number, from 0, as a click on it would.")
    var open: Int?

    @Option(help: "Save a picture of the window as PNG when all that is visible has come, and end.")
    var screenshot: String?

    @Option(help: "End after so many seconds.")
    var exitAfter: Double?

    @Flag(help: "Scroll from the top to the bottom, a page at a time as soon as one has come, and end.")
    var scrollThrough = false

    @Option(
        help: "Write to this file which picture each cell shows: a line for each change, one for each cell at rest."
    )
    var trace: String?

    @Option(help: "Run on a display of its own that nobody sees, as the tests do: broadway or xvfb.")
    var headless: HeadlessDisplay?

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count has to be at least 1.") }
    }

    func run() throws {
        let display = try headless?.start()
        defer { display?.stop() }
        let source: any PictureSource
        if let urlList {
            source = try URLListSource(path: urlList)
        } else {
            source = try PictureServer(folder: pictures, count: count)
        }
        // ArgumentParser calls this on the main thread, where main is.
        let code = MainActor.assumeIsolated { GalleryApplication(source: source, options: self).run() }
        throw ExitCode(code)
    }
}
