internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageServices

extension Page {
    static let sizes = Page(
        id: "sizes",
        title: tr("Sizes"),
        summary: tr(
            "A server scales each image to the pixels of its widget. A larger widget asks for a larger image; a smaller one is served by the caches."
        ),
        code: """
            var configuration = ImageManager.Configuration()
            configuration.imageService = server.service
            configuration.diskCache = nil
            let manager = ImageManager(configuration: configuration)
            picture.imageBinding.manager = manager
            picture.setImage(with: url)
            """
    ) { context in
        guard let server = try? ScalingServer(folder: context.server.folder) else {
            return PageContent(label(tr("The server that scales cannot be started.")))
        }
        var configuration = ImageManager.Configuration()
        configuration.imageService = server.service
        configuration.diskCache = nil
        let manager = ImageManager(configuration: configuration)
        let log = RequestLog(server, manager)
        let picture = sizedPicture(width: -1, height: -1, covers: false)
        let room = gtk_overlay_new()!
        gtk_overlay_set_child(OpaquePointer(room), gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
        gtk_overlay_add_overlay(OpaquePointer(room), picture.widget)
        gtk_widget_set_halign(room, GTK_ALIGN_START)
        let resize = { (width: Int32) in gtk_widget_set_size_request(room, width, width * 5 / 8) }
        resize(240)
        let url = context.fresh("dusk-mountains.jpg")
        picture.imageBinding.manager = manager
        picture.setImage(with: url)
        let buttons = [
            button(tr("60 points wide")) { resize(60) }, button(tr("120 points wide")) { resize(120) },
            button(tr("240 points wide")) { resize(240) }, button(tr("320 points wide")) { resize(320) },
        ]
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls(buttons), room, log.widget]),
            waitsFor: [picture],
            owner: log
        )
    }

    @MainActor
    private static func sample(_ picture: Picture, _ server: ScalingServer, url: URL) {
        var configuration = ImageManager.Configuration()
        configuration.imageService = server.service
        configuration.diskCache = nil
        let manager = ImageManager(configuration: configuration)
        picture.imageBinding.manager = manager
        picture.setImage(with: url)
    }
}

/// The URLs that a server was asked for, without those of the images in them, in a label.
@MainActor
private final class RequestLog {
    let widget = label("", "caption", "numeric")
    private let server: ScalingServer
    private var lines: [String] = []
    private var observation: ObservationToken?

    init(_ server: ScalingServer, _ manager: ImageManager) {
        self.server = server
        setText(widget, server.name)
        observation = manager.observe { [weak self] event in
            guard case .fetched = event.kind else { return }
            let text = event.url.absoluteString
            let server = text.firstRange(of: "/http%3A").map { String(text[..<$0.lowerBound]) } ?? text
            Task { @MainActor in self?.add(server) }
        }
    }

    private func add(_ line: String) {
        lines.append(line)
        setText(widget, ([server.name] + lines.suffix(6)).joined(separator: "\n"))
    }
}
