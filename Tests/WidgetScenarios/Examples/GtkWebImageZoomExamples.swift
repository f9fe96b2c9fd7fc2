internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageZoom

// The samples of GtkWebImageZoom.md.

@MainActor
private func view(in window: UnsafeMutablePointer<GtkWindow>, url: URL) {
    let view = ZoomView()
    view.setImageDescription("Map of the town")
    view.setImage(with: url) { result in
        if case .failure(let error) = result { print(error) }
    }
    gtk_window_set_child(window, view.native())
}

@MainActor
private func controls(view: ZoomView) {
    view.zoom *= 2
    view.setZoom(1, aboutX: 120, y: 80)
    view.center(onX: 4000, y: 3000)
    view.zoomToFit()
    view.maximumZoom = 4
    view.onChange = { [weak view] in
        guard let view, let region = view.visibleRegion else { return }
        print("\(view.zoom) device pixels per pixel of \(region)")
    }
}

private func regions(url: URL) async throws {
    let map = try await ImageManager.shared.tiledImage(for: url)
    let overview = try await map.region(map.bounds, scale: 0.125)
    let corner = try await map.region(PixelRect(x: 0, y: 0, width: 512, height: 512), priority: .low)
    print(overview, corner)
}
