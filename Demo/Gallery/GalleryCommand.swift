import ArgumentParser
import Foundation
import GtkWebImage
import WebImageTesting

/// The command line. `main` is synchronous, because an async one would not run GTK on the main thread.
@main
struct GalleryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webimage-gallery",
        abstract: "Demonstrates GtkWebImage, which loads images by URL.",
        discussion: """
            Without --url-list the images come from a server inside the gallery, which serves each bundled image under \
            many URLs.
            """,
        version: LibraryVersion.current
    )

    @OptionGroup var options: GalleryOptions

    static func main() {
        // The help text lists the pages, which are translated.
        Translation.start()
        main(nil)
    }

    func run() throws {
        let display = options.headless ? try XvfbDisplay.start() : nil
        defer { display?.stop() }
        display?.exportEnvironment()
        // GTK reads the variable when it opens the display.
        if let scale = options.scale { setenv("GDK_SCALE", "\(scale)", 1) }
        let server = try ImageServer(folder: options.images, count: options.count)
        server.line.quality = options.line.quality
        let source: any ImageFeed =
            if let urlList = options.urlList {
                try URLListFeed(path: urlList)
            } else if options.online {
                URLListFeed(onlineCount: options.count)
            } else {
                server
            }
        // ArgumentParser calls this on the main thread, where main is.
        let code = MainActor.assumeIsolated {
            let context = PageContext(source: source, server: server, hasWrongImages: options.wrongImages)
            return GalleryApplication(context: context, options: options).run()
        }
        throw ExitCode(code)
    }
}

extension LinePreset: ExpressibleByArgument {}
