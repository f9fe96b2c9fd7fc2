internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of Binding.md, compiled. What they do not declare is a parameter here.

@MainActor
private func places(button: Button, picture: Picture, entry: Entry, url: URL, pressed: URL, background: URL) {
    button.setImage(with: url, for: .normal)
    button.setImage(with: pressed, for: .active)
    button.setBackgroundImage(with: background)
    picture.imageBinding.highlighted.setImage(with: pressed)
    picture.imageBinding.isHighlighted = true
    entry.setIcon(with: url, at: .secondary)
    ApplicationIcon().setImage(with: url)
}

@MainActor
private func aPlaceByItself(entry: Entry, url: URL) {
    let icon = entry.iconBinding(at: .secondary)
    icon.imageTransition = .crossfade()
    icon.errorPlaceholder = .icon("dialog-warning-symbolic", size: 16)
    icon.setImage(with: ImageRequest(url: url, cachePolicy: .refresh))
    print(icon.imageProgress.fraction, icon.imageBinding.request?.url.absoluteString ?? "nothing")
}

@MainActor
func giveASize(button: Button, picture: Picture) {
    button.imageBinding.setFixedSize(width: 48, height: 48)

    let widget: UnsafeMutablePointer<GtkWidget> = picture.native()
    picture.imageBinding.setFixedSize(width: 160, height: 120)
    picture.contentFit = .cover
    gtk_widget_set_halign(widget, GTK_ALIGN_CENTER)
    gtk_widget_set_valign(widget, GTK_ALIGN_CENTER)
}

@MainActor
private func loads(picture: Picture, url: URL, dark: URL, small: URL, other: URL) {
    let task = picture.setImage(with: url)
    task.cancel()
    picture.cancelImageLoad()

    var request = ImageRequest(url: url)
    request.previewURL = small
    request.darkURL = dark
    request.fallbackURLs = [other]
    picture.setImage(with: request)
}

@MainActor
private func ready(picture: Picture, url: URL) async throws {
    let image = try await ImageManager.shared.image(for: url)
    picture.setImage(image)
}

@MainActor
private func awaited(picture: Picture, request: ImageRequest) async throws {
    let response = try await picture.setImage(with: request).response
    _ = response
}

@MainActor
private func keys(widget: WidgetPointer, url: URL) {
    let badge: OperationKey = "badge"
    let request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 32, height: 32)))
    let binding = widget.imageBinding(for: badge) { paintable in
        gtk_image_set_from_paintable(widget.native(), paintable)
    }
    binding.setImage(with: request)
    widget.images.cancel(badge)
}

@MainActor
private func tree(stackPage: UnsafeMutableRawPointer) {
    let page = WidgetPointer(stackPage)
    page.images.isSuspended = true
    page.images.isSuspended = false
    print(page.images.runningTasks.count)
    page.images.cancelAll()
}

@MainActor
private func around(picture: Picture) {
    picture.imageTransition = .crossfade(duration: .milliseconds(200))
    picture.imageIndicator = .progress
    picture.imageBinding.retriesOnClick = true
    picture.setImageDescription("A lighthouse")

    struct Curtain: ImageTransitioning {
        func layers(at progress: Double) -> TransitionLayers {
            var layers = TransitionLayers()
            layers.outgoing.offsetY = -progress
            layers.isOutgoingOnTop = true
            return layers
        }
    }

    picture.imageTransition = ImageTransition(Curtain(), duration: .milliseconds(300))

    struct Dots: ImageIndicating {
        var isAnimated: Bool { true }

        func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
            for number in 0..<3 {
                let opacity = Int(time * 3) % 3 == number ? 1 : 0.3
                let x = canvas.width / 2 + Double(number - 1) * 16 - 4
                canvas.bar(x: x, y: canvas.height / 2 - 4, width: 8, height: 8, opacity: opacity)
            }
        }
    }

    picture.imageIndicator = ImageIndicator(Dots())
}

private class MyPicture {
    let gobjectPointer: UnsafeMutablePointer<GObject>
    init(_ pointer: UnsafeMutablePointer<GObject>) { gobjectPointer = pointer }
}

extension MyPicture: PictureBindable {
    var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
}
