internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let formats = Page(
        id: "formats",
        title: tr("Formats"),
        summary: tr(
            "One photograph in each format, the smallest file first, and a drawing. Each is at least as like the original as the JPEG (SSIM 0.96)."
        ),
        uses: ["setImage(", "receivedByteCount"]
    ) { context in
        let tiles = [
            FormatTile("AVIF", "avif"), FormatTile("HEIC", "heic"), FormatTile("JPEG XL", "jxl"),
            FormatTile("WebP", "webp"), FormatTile("JPEG", "jpg"), FormatTile("GIF", "gif"), FormatTile("PNG", "png"),
            FormatTile("SVG", "svg"),
        ]
        // One file after the other, so that each has the processors to itself.
        @MainActor
        func load(_ number: Int) {
            guard number < 2 * tiles.count else { return }
            let tile = tiles[number % tiles.count]
            tile.load(context.fresh("formats/cat.\(tile.suffix)")) {
                let jpeg = tiles.first { $0.suffix == "jpg" }?.byteCount ?? 0
                let most = tiles.map(\.byteCount).max() ?? 0
                for tile in tiles { tile.compare(with: jpeg, most: most) }
                load(number + 1)
            }
        }
        // All twice, since the first image of a format takes the time to load its decoder.
        load(0)
        let again = button(tr("Load again")) { load(tiles.count) }
        let parts = [controls([again]), flow(tiles.map(\.widget), columns: 4)]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, spacing: 18, parts))
    }
}

/// The image in one format, with the bytes of its file.
@MainActor
private final class FormatTile {
    let suffix: String
    let picture = sizedPicture(width: 152, height: 114)
    let widget: Widget
    private(set) var byteCount = 0
    private let bar: Widget
    private let bytes = valueLabel("", "heading")
    private let share = label("", "caption", "numeric")
    private let time = label("", "caption", "numeric", "dim-label")

    init(_ title: String, _ suffix: String) {
        self.suffix = suffix
        picture.errorPlaceholder = .icon("image-missing-symbolic", size: 48)
        picture.setImageDescription(title)
        bar = levelBar(title)
        let name = label(title, "heading")
        gtk_widget_set_hexpand(name, 1)
        gtk_label_set_max_width_chars(OpaquePointer(share), 18)
        let head = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [name, bytes])
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), head, bar, share, time])
    }

    /// - Parameter next: Called when the image is there or has failed, but not when another one takes its place.
    func load(_ url: URL, next: @escaping @MainActor () -> Void) {
        picture.setImage(with: url, options: BindingOptions(whileLoading: .currentImage)) { [self] result in
            switch result {
            case .success(let response): show(response.metrics?.receivedByteCount, response.durations.decoding)
            case .failure(let error) where error.isCancelled: return
            case .failure(let error): setText(share, error.remedy)
            }
            next()
        }
    }

    private func show(_ count: Int64?, _ decoding: Duration) {
        byteCount = Int(count ?? 0)
        setText(bytes, Page.size(byteCount))
        setText(time, tr("decoded in %1 ms", Page.number(decoding / .milliseconds(1))))
    }

    /// Shows how the bytes compare with those of the JPEG, and with the most.
    func compare(with jpeg: Int, most: Int) {
        guard byteCount > 0, jpeg > 0 else { return }
        gtk_level_bar_set_value(OpaquePointer(bar), Double(byteCount) / Double(most))
        let percent = Page.number(100 * Double(byteCount) / Double(jpeg), digits: 0)
        setText(share, suffix == "svg" ? tr("sharp at any size") : tr("%1 % of the JPEG", percent))
    }
}
