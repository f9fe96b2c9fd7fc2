internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// Draws marks over the images of a window: badges with source and time, and a flashing frame around the images of a line.
@MainActor
final class ImageMarks {
    /// A badge in a corner of an image.
    private struct Badge: Equatable {
        let text: String
        let box: Box
        let color: [Float]
    }

    /// The half-period of the flash, in milliseconds.
    private static let beat: UInt32 = 160
    private static let beatCount = 8

    private let layer: OverlayLayer
    private let images: WindowImages
    private var badges: [Badge] = []
    private var lines: [URL: LoadLine] = [:]
    private var flashing: (url: URL, beat: Int)?
    /// The flashing boxes.
    private(set) var flashes: [Box] = []
    private var timer: Timer?

    /// Whether images have badges. Default: no.
    var showsBadges = false {
        didSet { update() }
    }

    init(_ window: Widget, _ layer: OverlayLayer) {
        self.layer = layer
        images = WindowImages(window: window)
        layer.canvas.draw = { [weak self] in self?.draw($0) }
        layer.onLayout = { [weak self] in self?.update() }
    }

    func stop() {
        timer?.cancel()
    }

    /// The texts of the drawn badges.
    var badgeTexts: [String] { badges.map(\.text) }

    /// Adopts the lines. The newest line of a URL counts.
    func setLines(_ lines: [LoadLine]) {
        guard showsBadges else {
            self.lines = [:]
            return
        }
        self.lines = Dictionary(lines.map { ($0.url, $0) }, uniquingKeysWith: { $1 })
        update()
    }

    /// Flashes the widgets that show a URL. If the user prefers reduced motion, a frame stays for the same time instead.
    /// - Returns: Whether such a widget is on screen.
    @discardableResult
    func flash(_ url: URL) -> Bool {
        timer?.cancel()
        flashing = (url, 0)
        update()
        guard !flashes.isEmpty else {
            flashing = nil
            return false
        }
        timer = Timer(every: Self.beat) { [weak self] in
            guard let self, let flashing else { return false }
            let isOver = flashing.beat + 1 >= Self.beatCount
            self.flashing = isOver ? nil : (flashing.url, flashing.beat + 1)
            if isOver { update() } else if !ReducedMotion.isRequested { layer.canvas.invalidate() }
            return !isOver
        }
        return true
    }

    /// Searches the widgets again, and draws only after a change.
    private func update() {
        guard showsBadges || flashing != nil || !badges.isEmpty || !flashes.isEmpty else { return }
        let visible = showsBadges || flashing != nil ? images.visible : []
        let newFlashes = visible.filter { $0.url == flashing?.url }.map(\.box)
        let newBadges = showsBadges ? visible.compactMap(badge) : []
        guard newFlashes != flashes || newBadges != badges else { return }
        (flashes, badges) = (newFlashes, newBadges)
        layer.canvas.invalidate()
    }

    private func badge(of image: WindowImages.Visible) -> Badge? {
        guard let line = lines[image.url], let text = line.badge else { return nil }
        let color = Palette.badge(of: line)
        return Badge(text: text, box: image.box, color: [color.red, color.green, color.blue])
    }

    private func draw(_ painter: Painter) {
        for badge in badges {
            let text = painter.makeText(badge.text)
            let box = Box(x: badge.box.x + 4, y: badge.box.y + 4, width: text.width + 10, height: text.height + 2)
            // A badge must not cover a small image or its neighbor.
            guard box.width + 8 <= badge.box.width, box.height + 8 <= badge.box.height else { continue }
            let color = GdkRGBA(red: badge.color[0], green: badge.color[1], blue: badge.color[2], alpha: 0.92)
            painter.fill(box, radius: 6, color)
            painter.draw(text, x: box.x + 5, y: box.y + 1, Palette.badgeText)
        }
        guard let flashing, ReducedMotion.isRequested || flashing.beat.isMultiple(of: 2) else { return }
        for box in flashes {
            var inner = Palette.highlight
            inner.alpha = 0.25
            painter.fill(box, radius: 6, inner)
            painter.stroke(box, radius: 6, width: 4, Palette.highlight)
        }
    }
}
