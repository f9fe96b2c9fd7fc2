internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageDesktop

/// The large view of the wall's images, one at a time. What the wall shows of an image stands in for it while it loads, and
/// its neighbours are fetched ahead.
@MainActor
final class LargeView {
    /// Called when another image takes the place of the one that is shown.
    var onStep: (() -> Void)?
    /// Returns what the wall shows of an image.
    var thumbnail: (Int) -> WebImage? = { _ in nil }
    /// The number of the image on the wall, from 0.
    private(set) var number = 0

    private let owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 0))
    private let feed: any ImageFeed
    private let picture = Picture()
    private let info = label("", "caption", "dim-label", "numeric")
    private let previous = gtk_button_new_from_icon_name("go-previous-symbolic")!
    private let next = gtk_button_new_from_icon_name("go-next-symbolic")!
    private var neighbours: PrefetchTask?
    /// Distinguishes what is said of the image that is shown from what is said of one before.
    private var serial = 0

    init(_ feed: any ImageFeed) {
        self.feed = feed
        nameIcon(previous, tr("Previous image"))
        nameIcon(next, tr("Next image"))
        append(makeStage(), to: widget)
        gtk_label_set_justify(OpaquePointer(info), GTK_JUSTIFY_CENTER)
        gtk_label_set_xalign(OpaquePointer(info), 0.5)
        setMargins(of: info, 9)
        append(info, to: widget)
        connect(OpaquePointer(previous), "clicked") { [weak self] in self?.step(-1) }
        connect(OpaquePointer(next), "clicked") { [weak self] in self?.step(1) }
        onKey(in: widget) { [weak self] in self?.press($0) ?? false }
    }

    var widget: Widget { owned.widget }
    /// What the image is called.
    var title: String { feed.urls[number].imageTitle }
    /// Which one of the wall's images it is.
    var position: String { tr("%1 of %2", number + 1, feed.urls.count) }
    var isAtRest: Bool { picture.isAtRest }

    /// Shows an image, and its thumbnail until it has loaded. The load of the image before is cancelled.
    func show(_ number: Int) {
        self.number = number
        gtk_widget_set_sensitive(previous, number > 0 ? 1 : 0)
        gtk_widget_set_sensitive(next, number + 1 < feed.urls.count ? 1 : 0)
        let old = neighbours
        neighbours = nil
        let (small, large) = (feed.urls[number], feed.largeURL(for: feed.urls[number]))
        picture.setImageDescription(title)
        // The focus must not leave the page, or GTK would move it to the header.
        gtk_widget_set_focusable(picture.widget, 1)
        serial += 1
        setText(info, tr("Loading …"))
        let start = ContinuousClock.now
        // Part of a sharp image would take the place of a whole one.
        let placeholder = thumbnail(number).map { ImagePlaceholder.image($0) } ?? .url(small)
        picture.setImage(with: large, placeholder: placeholder) { [weak self, serial] result in
            guard let self, serial == self.serial else { return }
            describe(result, of: large, after: ContinuousClock.now - start)
            prefetchNeighbours()
        }
        // The image may be one of those that arrive, whose transfer it has joined by now.
        old?.cancel()
        onStep?()
    }

    /// Cancels what loads, because the view is left.
    func close() {
        serial += 1
        picture.cancelImageLoad()
        neighbours?.cancel()
    }

    /// Moves the focus to the image, from which the arrow keys lead to the others.
    func focus() { gtk_widget_grab_focus(picture.widget) }

    // Layout and keys

    private func makeStage() -> Widget {
        gtk_widget_set_hexpand(picture.widget, 1)
        gtk_widget_set_vexpand(picture.widget, 1)
        picture.errorPlaceholder = .icon("image-missing-symbolic", size: 64)
        picture.imageMenu = ImageMenu(
            copy: tr("_Copy Image"),
            save: tr("_Save Image As…"),
            open: tr("_Open Image"),
            copyAddress: tr("Copy _Address")
        ) { [weak self] in if let self { showToast("\($0.reason)", in: widget) } }
        let stage = gtk_overlay_new()!
        gtk_overlay_set_child(OpaquePointer(stage), picture.widget)
        for (button, side) in [(previous, GTK_ALIGN_START), (next, GTK_ALIGN_END)] {
            gtk_widget_add_css_class(button, "osd")
            gtk_widget_add_css_class(button, "circular")
            gtk_widget_set_halign(button, side)
            gtk_widget_set_valign(button, GTK_ALIGN_CENTER)
            gtk_widget_set_margin_start(button, 12)
            gtk_widget_set_margin_end(button, 12)
            gtk_overlay_add_overlay(OpaquePointer(stage), button)
        }
        return stage
    }

    private func press(_ press: KeyPress) -> Bool {
        let forward = gtk_widget_get_direction(widget) == GTK_TEXT_DIR_RTL ? -1 : 1
        let modifiers = GDK_CONTROL_MASK.rawValue | GDK_ALT_MASK.rawValue | GDK_SHIFT_MASK.rawValue
        guard press.modifiers.rawValue & modifiers == 0 else { return false }
        switch press.key {
        case GDK_KEY_Right, GDK_KEY_KP_Right: step(forward)
        case GDK_KEY_Left, GDK_KEY_KP_Left: step(-forward)
        default: return false
        }
        return true
    }

    private func step(_ count: Int) {
        guard feed.urls.indices.contains(number + count) else { return }
        show(number + count)
        // A button that has the focus may have lost its use.
        let isLast = [previous, next].contains { gtk_widget_has_focus($0) != 0 && gtk_widget_get_sensitive($0) == 0 }
        if isLast { focus() }
    }

    // Loads

    private func prefetchNeighbours() {
        let scale = Int(gtk_widget_get_scale_factor(widget))
        let size = PixelSize(
            width: Int(gtk_widget_get_width(picture.widget)) * scale,
            height: Int(gtk_widget_get_height(picture.widget)) * scale
        )
        // An image in memory is there before the first layout.
        guard size.width > 0, size.height > 0 else { return }
        let requests = [number + 1, number - 1].filter(feed.urls.indices.contains).map {
            ImageRequest(url: feed.largeURL(for: feed.urls[$0]), priority: .low, decodeSize: .contain(size))
        }
        neighbours = ImagePrefetcher.shared.prefetch(requests)
    }

    /// Says what the file is, where it came from, and how long that took.
    private func describe(_ result: Result<ImageResponse, ImageError>, of url: URL, after time: Duration) {
        switch result {
        case .failure(let error):
            guard !error.isCancelled else { return }
            setText(info, "\(error.title)\n\(error.reason). \(error.remedy)")
        case .success(let response):
            let image = response.image
            let facts = [
                Page.size(image.naturalSize), image.format.rawValue.uppercased(), Self.fileSize(response, of: url),
                response.sourceTitle,
                tr("%1 ms", Int((time / .milliseconds(1)).rounded())),
            ]
            setText(info, facts.compactMap(\.self).joined(separator: " · "))
        }
    }

    /// The size of the file: that of its transfer, or else that of its entry in the disk cache, which a memory hit does not know.
    private static func fileSize(_ response: ImageResponse, of url: URL) -> String? {
        if response.source == .loader, let count = response.metrics?.receivedByteCount { return Page.size(Int(count)) }
        let path = ImageManager.shared.cache.path(for: url)
        let attributes = path.flatMap { try? FileManager.default.attributesOfItem(atPath: $0) }
        return (attributes?[.size] as? Int).map(Page.size)
    }
}
