import TestSupport
import Testing
import WebImageCore

@testable import GtkWebImageZoom

@Suite("What a zoomed view shows")
struct ZoomViewportTests {
    private typealias Point = ZoomViewport.Point

    private let image = PixelSize(width: 8192, height: 6144)

    private func viewport(_ width: Double = 1000, _ height: Double = 700) -> ZoomViewport {
        ZoomViewport(imageSize: image, viewSize: Point(x: width, y: height))
    }

    @Test("At first the whole image is in the middle, and stays so when the view changes its size")
    func fitting() {
        var view = viewport()
        #expect(view.visibleRect == PixelRect(x: 0, y: 0, width: 8192, height: 6144))
        #expect(view.zoom == 700.0 / 6144 && view.isFitting && view.origin.x == 33 && view.origin.y == 0)
        view.resize(to: Point(x: 512, y: 700))
        #expect(view.zoom == 512.0 / 8192 && view.origin == Point(x: 0, y: 158))
        let small = ZoomViewport(imageSize: PixelSize(width: 10, height: 20), viewSize: Point(x: 100, y: 100))
        #expect(small.zoom == 1 && small.origin == Point(x: 45, y: 40))
    }

    @Test("The pixel below the pointer stays there while the zoom changes")
    func pointer() {
        var view = viewport()
        let pointer = Point(x: 300, y: 200)
        view.set(0.5, about: pointer)
        let before = view.imagePoint(at: pointer)
        for zoom in [0.7, 1, 3, 8, 2, 0.6] {
            view.set(zoom, about: pointer)
            let after = view.imagePoint(at: pointer)
            #expect(abs(after.x - before.x) < 1e-6 && abs(after.y - before.y) < 1e-6, "\(zoom)")
        }
    }

    @Test("The zoom ends at the whole image and at the maximum, and the edges of the image at those of the view")
    func bounds() {
        var view = viewport()
        view.set(1000)
        #expect(view.zoom == 8)
        view.pan(by: Point(x: 1e9, y: 1e9))
        #expect(view.visibleRect.x == 0 && view.visibleRect.y == 0 && view.origin == Point(x: 0, y: 0))
        view.pan(by: Point(x: -1e9, y: -1e9))
        #expect(view.visibleRect.x + view.visibleRect.size.width == 8192)
        #expect(view.visibleRect.y + view.visibleRect.size.height == 6144)
        view.set(0)
        #expect(view.isFitting && view.zoom == 700.0 / 6144)
        for zoom in [Double.nan, -.infinity, .infinity] { view.set(zoom) }
        #expect(view.zoom == 8)
    }

    @Test("The middle stays where it is when a view that is zoomed changes its size")
    func resizing() {
        var view = viewport()
        view.set(1)
        view.move(to: Point(x: 3000, y: 2000))
        view.resize(to: Point(x: 400, y: 900))
        #expect(view.center == Point(x: 3000, y: 2000) && view.zoom == 1)
        view.resize(to: Point(x: 0, y: 0))
        #expect(view.viewSize == Point(x: 400, y: 900))
    }

    @Test("Random moves never leave the image, and the tiles of what is visible cover it")
    func randomMoves() {
        var generator = SeededGenerator(seed: 3)
        var view = viewport()
        for _ in 0..<2000 {
            let point = Point(
                x: .random(in: -50...1050, using: &generator),
                y: .random(in: -50...750, using: &generator)
            )
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: view.set(view.zoom * .random(in: 0.5...2, using: &generator), about: point)
            case 1: view.pan(by: point)
            case 2: view.move(to: Point(x: point.x * 8, y: point.y * 8))
            default: view.resize(to: Point(x: abs(point.x) + 1, y: abs(point.y) + 1))
            }
            let rect = view.visibleRect
            #expect(rect.isInside(image) && view.zoom >= view.fittingZoom && view.zoom <= 8)
            let grid = view.grid
            // At least a pixel of the tiles for each of the screen, and less than two.
            #expect(Double(grid.reduction) * view.zoom <= 1 || grid.reduction == 1)
            let around = grid.original(grid.rect(around: grid.tiles(covering: rect)))
            #expect(around.x <= rect.x && around.x + around.size.width >= rect.x + rect.size.width)
            #expect(around.y <= rect.y && around.y + around.size.height >= rect.y + rect.size.height)
        }
    }

    @Test(
        "A number that is no place or no zoom does not end the program",
        arguments: [Double.nan, .infinity, -.infinity, 1e308, -1e308, 0, .leastNonzeroMagnitude]
    )
    func oddNumbers(number: Double) {
        for change in 0..<6 {
            var view = viewport()
            switch change {
            case 0: view.maximumZoom = number
            case 1: view.set(2, about: Point(x: number, y: 0))
            case 2: view.set(number, about: Point(x: 0, y: number))
            case 3: view.pan(by: Point(x: number, y: number))
            case 4: view.move(to: Point(x: number, y: number))
            default:
                view.maximumZoom = number
                view.resize(to: Point(x: 300, y: 200))
            }
            for zoom in [number, 2, 1] {
                view.set(zoom)
                #expect(view.visibleRect.isInside(image) && view.zoom >= view.fittingZoom, "\(change): \(view)")
                #expect(view.center.x.isFinite && view.center.y.isFinite && view.zoom.isFinite)
                _ = view.grid.tiles(covering: view.visibleRect)
            }
        }
    }
}
