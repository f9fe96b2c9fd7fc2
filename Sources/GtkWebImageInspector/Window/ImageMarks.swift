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
        let color: UInt32
    }

    /// The half-period of the flash.
    private static let beat = Duration.milliseconds(160)
    private static let beatCount = 8

    private let layer: OverlayLayer
    let images: WindowImages
    private var badges: [Badge] = []
    private var lines: [URL: LoadLine] = [:]
    private var flashing: (url: URL, beat: Int)?
    /// The flashing boxes.
    private(set) var flashes: [Box] = []
    private var timer: Task<Void, Never>?

    /// Whether images have badges. Default: no.
    var showsBadges = false {
        didSet { update() }
    }

    init(_ window: Widget, _ layer: OverlayLayer) {
        self.layer = layer
        images = WindowImages(window: window)
        layer.canvas.content.draw = { [weak self] in self?.draw($0) }
        layer.onLayout = { [weak self] in self?.update() }
    }

    func stop() {
        timer?.cancel()
    }

    /// The texts of the drawn badges.
    var badgeTexts: [String] { badges.map(\.text) }

    /// Adopts the lines. The newest line of a URL counts.
    func setLines(_ lines: [LoadLine]) {
        self.lines = showsBadges ? Dictionary(lines.map { ($0.url, $0) }, uniquingKeysWith: { $1 }) : [:]
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
        timer = Task { [weak self] in
            for beat in 1...Self.beatCount {
                guard (try? await Task.sleep(for: Self.beat)) != nil, let self else { return }
                flashing = beat < Self.beatCount ? (url, beat) : nil
                if flashing == nil { update() } else if !ReducedMotion.isRequested { layer.canvas.invalidate() }
            }
        }
        return true
    }

    /// Searches the widgets again, and draws only after a change.
    private func update() {
        guard showsBadges || flashing != nil || !badges.isEmpty || !flashes.isEmpty else { return }
        let visible = showsBadges || flashing != nil ? images.visible : []
        let newFlashes = visible.filter { $0.request.url == flashing?.url }.map(\.box)
        let newBadges = showsBadges ? visible.compactMap(badge) : []
        guard newFlashes != flashes || newBadges != badges else { return }
        (flashes, badges) = (newFlashes, newBadges)
        layer.canvas.invalidate()
    }

    private func badge(of image: WindowImages.Visible) -> Badge? {
        guard let line = lines[image.request.url], let text = line.badge else { return nil }
        return Badge(text: text, box: image.box, color: Palette.badge(of: line))
    }

    private func draw(_ painter: Painter) {
        for badge in badges {
            let text = painter.makeText(badge.text)
            let box = Box(x: badge.box.x + 4, y: badge.box.y + 4, width: text.width + 10, height: text.height + 2)
            // A badge must not cover a small image or its neighbor.
            guard box.width + 8 <= badge.box.width, box.height + 8 <= badge.box.height else { continue }
            painter.fill(box, radius: 6, Palette.color(badge.color, alpha: 0.92))
            painter.draw(text, x: box.x + 5, y: box.y + 1, Palette.badgeText)
        }
        guard let flashing, ReducedMotion.isRequested || flashing.beat.isMultiple(of: 2) else { return }
        for box in flashes {
            painter.fill(box, radius: 6, Palette.color(Palette.highlight, alpha: 0.25))
            painter.stroke(box, radius: 6, width: 4, Palette.color(Palette.highlight))
        }
    }
}
