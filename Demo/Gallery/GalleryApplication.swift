internal import CWebImageGtk4
import Foundation
import GtkWebImage

/// The GtkApplication and what the command line asked of it.
@MainActor
final class GalleryApplication {
    static let identifier = "org.gtkwebimage.Gallery"

    private let source: any PictureSource
    private let options: GalleryCommand
    private let application: UnsafeMutablePointer<GtkApplication>
    private var window: GalleryWindow?
    private var tour: Tour?
    private var status: Int32 = 0

    init(source: any PictureSource, options: GalleryCommand) {
        self.source = source
        self.options = options
        application = gtk_application_new(Self.identifier, G_APPLICATION_NON_UNIQUE)
        g_set_prgname(Self.identifier)
        connect(OpaquePointer(application), "activate") { [weak self] in self?.activate() }
    }

    /// - Returns: The exit code.
    func run() -> Int32 {
        var configuration = ImageManagerConfiguration()
        configuration.diskCache = options.cacheDir.map(DiskCacheConfiguration.init(directory:)) ?? .init()
        ImageManager.shared = ImageManager(configuration: configuration)
        let result = g_application_run(application.asApplication, 0, nil)
        return result == 0 ? status : result
    }

    private func activate() {
        if let window { return window.present() }
        let window = GalleryWindow(application: application, source: source)
        self.window = window
        window.present()
        if let number = options.open, source.urls.indices.contains(number) { window.open(number) }
        startTour(of: window)
        if let seconds = options.exitAfter { quit(after: seconds) }
    }

    private func startTour(of window: GalleryWindow) {
        guard options.screenshot != nil || options.scrollThrough || options.trace != nil else { return }
        let tour = Tour(window, options) { [weak self] error in
            if let error {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                self?.status = 1
            }
            self?.quit()
        }
        self.tour = tour
        tour.start()
    }

    private func quit() {
        g_application_quit(application.asApplication)
    }

    /// On the main actor, which works under the GLib loop.
    private func quit(after seconds: Double) {
        Task { @MainActor in
            try await Task.sleep(for: .seconds(seconds))
            quit()
        }
    }
}

extension UnsafeMutablePointer<GtkApplication> {
    fileprivate var asApplication: UnsafeMutablePointer<GApplication> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: GApplication.self)
    }
}
