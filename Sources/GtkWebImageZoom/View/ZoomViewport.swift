import WebImageCore

/// The part of an image that a view shows, and its scale: the arithmetic of zooming, without a toolkit.
///
/// Lengths of the view are in device pixels, lengths of the image in image pixels.
struct ZoomViewport: Hashable, Sendable {
    /// A point or a distance.
    struct Point: Hashable, Sendable {
        var x: Double
        var y: Double

        init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
    }

    let imageSize: PixelSize
    /// The size of the view.
    private(set) var viewSize: Point
    /// Device pixels per pixel of the image.
    private(set) var zoom: Double
    /// The point of the image in the middle of the view.
    private(set) var center: Point
    /// Whether the whole image stays visible when the view changes its size.
    private(set) var isFitting = true
    /// The largest ``zoom``.
    var maximumZoom = 8.0 { didSet { set(zoom) } }

    init(imageSize: PixelSize, viewSize: Point = Point(x: 1, y: 1)) {
        self.imageSize = imageSize
        self.viewSize = viewSize
        zoom = 1
        center = Point(x: Double(imageSize.width) / 2, y: Double(imageSize.height) / 2)
        fit()
    }

    /// The zoom that shows the whole image without enlarging it.
    var fittingZoom: Double {
        min(viewSize.x / Double(imageSize.width), viewSize.y / Double(imageSize.height), 1)
    }

    mutating func fit() {
        zoom = fittingZoom
        isFitting = true
        clamp()
    }

    /// Adopts a new size of the view. The middle of the image stays in place.
    mutating func resize(to size: Point) {
        guard size != viewSize, size.x > 0, size.y > 0 else { return }
        viewSize = size
        if isFitting { fit() } else { set(zoom) }
    }

    /// Changes the zoom. A point of the view stays over the same point of the image, as far as the edges allow.
    mutating func set(_ zoom: Double, about point: Point? = nil) {
        var point = point ?? Point(x: viewSize.x / 2, y: viewSize.y / 2)
        // A distant point moves the image to its edge; infinity would have no direction.
        point.x = point.x.bounded(to: -Self.farthest...Self.farthest, ifNaN: viewSize.x / 2)
        point.y = point.y.bounded(to: -Self.farthest...Self.farthest, ifNaN: viewSize.y / 2)
        let fixed = imagePoint(at: point)
        let least = fittingZoom
        let most = max(maximumZoom.bounded(to: 0...Self.largestZoom, ifNaN: 0), least)
        self.zoom = zoom.bounded(to: least...most, ifNaN: least)
        isFitting = self.zoom == least
        center.x = fixed.x - (point.x - viewSize.x / 2) / self.zoom
        center.y = fixed.y - (point.y - viewSize.y / 2) / self.zoom
        clamp()
    }

    /// Moves the image by a distance in the view.
    mutating func pan(by distance: Point) {
        move(to: Point(x: center.x - distance.x / zoom, y: center.y - distance.y / zoom))
    }

    /// Centers the view on a point of the image, as far as the edges allow.
    mutating func move(to point: Point) {
        center.x = point.x.bounded(to: -Self.farthest...Self.farthest, ifNaN: center.x)
        center.y = point.y.bounded(to: -Self.farthest...Self.farthest, ifNaN: center.y)
        clamp()
    }

    /// The upper bound of ``maximumZoom``, beyond any screen.
    private static let largestZoom = 1e6
    /// The largest coordinate for which all calculations are exact enough.
    private static let farthest = 1e9

    /// The point of the image below a point of the view.
    func imagePoint(at point: Point) -> Point {
        Point(x: center.x + (point.x - viewSize.x / 2) / zoom, y: center.y + (point.y - viewSize.y / 2) / zoom)
    }

    /// The position of the image's upper left corner in the view. It is rounded, so that at a zoom of 1 image pixels match screen
    /// pixels.
    var origin: Point {
        Point(
            x: (viewSize.x / 2 - center.x * zoom).rounded(),
            y: (viewSize.y / 2 - center.y * zoom).rounded()
        )
    }

    /// The visible part of the image.
    var visibleRect: PixelRect {
        let origin = origin
        let left = max(Int(bounded: (-origin.x / zoom).rounded(.down)), 0)
        let top = max(Int(bounded: (-origin.y / zoom).rounded(.down)), 0)
        let right = min(Int(bounded: ((viewSize.x - origin.x) / zoom).rounded(.up)), imageSize.width)
        let bottom = min(Int(bounded: ((viewSize.y - origin.y) / zoom).rounded(.up)), imageSize.height)
        return PixelRect(x: left, y: top, width: max(right - left, 0), height: max(bottom - top, 0))
    }

    /// The grid with at least the visible detail.
    var grid: TileGrid { TileGrid(size: imageSize, scale: min(zoom, 1)) }

    /// Keeps the edges of a large image outside the view, and centers a smaller image.
    private mutating func clamp() {
        center.x = Self.clamped(center.x, in: Double(imageSize.width), showing: viewSize.x / zoom)
        center.y = Self.clamped(center.y, in: Double(imageSize.height), showing: viewSize.y / zoom)
    }

    private static func clamped(_ center: Double, in length: Double, showing visible: Double) -> Double {
        visible >= length ? length / 2 : min(max(center, visible / 2), length - visible / 2)
    }
}
