import ArgumentParser
import Foundation
import GtkWebImage

/// The command line. main is synchronous, as it has to be in a GTK app: an async one gives the main thread away.
@main
struct GalleryCommand: ParsableCommand {
    static let version = LibraryVersion.current

    static let configuration = CommandConfiguration(
        commandName: "webimage-gallery",
        abstract: "Shows what GtkWebImage does: images that come by URL.",
        discussion: """
            Without --url-list the pictures come from a server inside the gallery, which serves those that are shipped \
            with it, each under many URLs.
            """,
        version: version
    )

    @Option(help: "The page to show at first: \(Self.pageNames.joined(separator: ", ")).")
    var page = "wall"

    @Option(help: "A text file of URLs, one a line, to show instead of the shipped pictures.")
    var urlList: String?

    @Flag(help: "Show photographs from the internet on the wall.")
    var online = false

    @Option(help: "The number of pictures on the wall when the shipped ones are shown.")
    var count = 1200

    @Option(help: "The folder of the shipped pictures.")
    var pictures = ImageServer.standardFolder

    @Option(help: "Where the disk cache is. Default: $XDG_CACHE_HOME/org.gtkwebimage.Gallery/web-images/default.")
    var cacheDir: String?

    @Option(help: "Open the picture with this number, from 0, as a click on it would.")
    var open: Int?

    @Option(help: "Save a picture of the window as PNG when all that is visible has come, and end.")
    var screenshot: String?

    @Option(help: "Width and height of the window in application pixels.")
    var size = "1000x720"

    @Option(help: "Device pixels per application pixel, where the display does not say: 1 or 2.")
    var scale: Int?

    @Flag(help: "Dark style, whatever the desktop has.")
    var dark = false

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

    static func main() {
        // The help names the pages, in the language of the user.
        Translation.start()
        main(nil)
    }

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count has to be at least 1.") }
        guard Self.pageNames.contains(page) else {
            throw ValidationError("There is no page \(page); there are \(Self.pageNames.joined(separator: ", ")).")
        }
        guard size.split(separator: "x").compactMap({ Int($0) }).filter({ $0 > 0 }).count == 2 else {
            throw ValidationError("--size is WIDTHxHEIGHT, for example 1000x720.")
        }
        guard scale.map({ $0 == 1 || $0 == 2 }) ?? true else { throw ValidationError("--scale is 1 or 2.") }
    }

    func run() throws {
        let display = try headless?.start()
        defer { display?.stop() }
        // GTK asks for it when it opens the display.
        if let scale { setenv("GDK_SCALE", "\(scale)", 1) }
        let server = try ImageServer(folder: pictures, count: count)
        let source: any ImageFeed =
            if let urlList {
                try URLListSource(path: urlList)
            } else if online {
                URLListSource(onlineCount: count)
            } else {
                server
            }
        // ArgumentParser calls this on the main thread, where main is.
        let code = MainActor.assumeIsolated {
            GalleryApplication(context: PageContext(source: source, server: server), options: self).run()
        }
        throw ExitCode(code)
    }

    /// Width and height.
    var windowSize: (width: Int, height: Int) {
        let numbers = size.split(separator: "x").compactMap { Int($0) }
        return (numbers[0], numbers[1])
    }

    private static var pageNames: [String] { MainActor.assumeIsolated { Page.all.map(\.id) } }
}
