internal import CWebImageAdwaita
internal import CWebImageGtk4
import Foundation
import GtkWebImage

/// The GtkApplication, configured by the command line.
@MainActor
final class GalleryApplication {
    private let context: PageContext
    private let options: GalleryOptions
    private let application: UnsafeMutablePointer<GtkApplication>
    private let style = ColorScheme()
    private var window: GalleryWindow?
    private var tour: Tour?
    private var status: Int32 = 0

    init(context: PageContext, options: GalleryOptions) {
        self.context = context
        self.options = options
        application = gtk_application_new(AppInfo.identifier, gwi_application_non_unique)
        g_set_prgname(AppInfo.identifier)
        connect(OpaquePointer(application), "startup") { [weak self] in self?.startUp() }
        connect(OpaquePointer(application), "activate") { [weak self] in self?.activate() }
    }

    /// Runs the application.
    /// - Returns: The exit code.
    func run() -> Int32 {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = options.cacheDir.map(ImageManager.Configuration.DiskCache.init(directory:)) ?? .init()
        configuration.cacheKeyFilter = context.server.cacheKeys
        ImageManager.shared = ImageManager(configuration: configuration)
        let result = g_application_run(cast(OpaquePointer(application)), 0, nil)
        return result == 0 ? status : result
    }

    private func startUp() {
        adw_init()
        Style.load()
        ImageAccessibility.failureDescription = tr("The image could not be loaded")
        gtk_window_set_default_icon_name(AppInfo.identifier)
        addAction("quit", to: OpaquePointer(application)) { [weak self] in self?.quit() }
        addAction("about", to: OpaquePointer(application)) { [weak self] in
            if let window = self?.window { AboutWindow.present(over: window.window) }
        }
        style.addAction(to: OpaquePointer(application), isDark: options.dark)
        for shortcut in ShortcutsWindow.all {
            var keys: [UnsafePointer<CChar>?] = shortcut.keys.map { UnsafePointer(strdup($0)) } + [nil]
            gtk_application_set_accels_for_action(application, shortcut.action, &keys)
            for key in keys { free(UnsafeMutablePointer(mutating: key)) }
        }
    }

    private func activate() {
        if let window { return window.present() }
        let window = GalleryWindow(application: application, context: context, size: options.windowSize)
        self.window = window
        window.showPage(options.firstPage)
        if options.size == nil { window.fillBrowser() }
        window.present()
        if options.inspector { window.showInspector() }
        if options.source { window.showSource() }
        if let number = options.open, context.source.urls.indices.contains(number) { window.open(number) }
        if let seconds = options.fling {
            fling(window, seconds: seconds)
        } else {
            startTour(of: window)
        }
        if let seconds = options.exitAfter { quit(after: seconds) }
    }

    /// Flings the page, prints what was measured and goes on with the tour or quits.
    private func fling(_ window: GalleryWindow, seconds: Double) {
        Task { @MainActor in
            while !window.isAtRest { try await Task.sleep(for: .milliseconds(50)) }
            let report = await window.current?.wallStage?.start(seconds: seconds).value?.text
            FileHandle.standardOutput.write(Data((report ?? "").utf8))
            if report == nil { status = 1 }
            if options.screenshot == nil || report == nil { quit() } else { startTour(of: window) }
        }
    }

    private func startTour(of window: GalleryWindow) {
        guard options.screenshot != nil || options.scrollThrough || options.trace != nil else { return }
        let tour = Tour(window, server: context.server, options: options) { [weak self] error in
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
        g_application_quit(cast(OpaquePointer(application)))
    }

    /// Quits from a task on the main actor, which the library serves from the GLib loop.
    private func quit(after seconds: Double) {
        Task { @MainActor in
            try await Task.sleep(for: .seconds(seconds))
            quit()
        }
    }
}
