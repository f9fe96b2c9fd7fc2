internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

/// Shows one figure after the other in a window of its own, and saves them: films as GIF, others as JPEG, which are formats that docc
/// takes.
@MainActor
final class FigureStudio {
    /// What most figures show.
    static let image = "desert-dunes.jpg"
    /// The image before it.
    private static let earlierImage = "dusk-mountains.jpg"
    private static let portrait = "astronaut.jpg"
    /// The size of most figures, in which these images are not cropped.
    private static let (width, height): (Int32, Int32) = (128, 80)
    private static let frameDuration = Duration.milliseconds(60)
    private static let frameCount = 16
    /// The length of the film of a transition.
    static let transitionDuration = frameDuration * frameCount
    private static let step = Int64(frameDuration / .microseconds(1))
    /// How long the first and the last frame of a film are seen.
    private static let pause = Duration.milliseconds(800)
    /// How far a frame may be from its time in a film, in microseconds.
    private static let tolerance: Int64 = 30_000

    private let context: PageContext
    private let folder: URL
    private let isDark: Bool
    private let window: UnsafeMutablePointer<GtkWindow>

    /// - Parameters:
    ///   - folder: Where the files are saved.
    ///   - isDark: Whether the style is dark. Only the figures that have its colours are saved then, with `~dark` in their names.
    init(application: UnsafeMutablePointer<GtkApplication>, context: PageContext, folder: String, isDark: Bool) {
        (self.context, self.folder, self.isDark) = (context, URL(filePath: folder), isDark)
        window = cast(OpaquePointer(gtk_application_window_new(application)))
    }

    func saveAll() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        gtk_window_present(window)
        for figure in try await Figure.all(context) where figure.followsStyle || !isDark {
            let (image, format) = try await photograph(figure)
            var options = EncodeOptions()
            options.quality = 0.85
            let name = "\(figure.name)\(isDark ? "~dark" : "").\(format == .gif ? "gif" : "jpg")"
            try image.data(as: format, options: options).write(to: folder.appending(path: name))
        }
    }

    private func photograph(_ figure: Figure) async throws -> (WebImage, ImageFormat) {
        switch figure.subject {
        case .transformer(let transformer):
            let picture = show(width: 112, height: 112, background: "chequered")
            picture.contentFit = .scaleDown
            return (try await still(of: picture, transformer), .jpeg)
        case .fit(let fit):
            let picture = show(background: "chequered")
            picture.contentFit = fit
            // The image is smaller than the widget, so that the fits differ.
            let small = ImageTransformer.resize(to: PixelSize(width: 64, height: 64))
            return (try await still(of: picture, small), .jpeg)
        case .placeholder(let placeholder):
            return (try await still(of: placeholder), .jpeg)
        case .indicator(let indicator):
            return (try await retry(figure) { try await film(of: indicator) }, .gif)
        case .transition(let transition):
            return (try await retry(figure) { try await film(of: transition) }, .gif)
        }
    }

    /// Makes a film again while a busy computer drops frames of it.
    private func retry(_ figure: Figure, _ film: () async throws -> WebImage?) async throws -> WebImage {
        for _ in 0..<5 {
            if let film = try await film() { return film }
        }
        throw Screenshot.Failure(description: "Frames of \(figure.name) are late. Close other programs.")
    }

    /// Puts a new widget into the window.
    private func show(width: Int32 = width, height: Int32 = height, background: String) -> Picture {
        let picture = sizedPicture(width: width, height: height)
        gtk_widget_remove_css_class(picture.widget, "image-place")
        gtk_widget_add_css_class(picture.widget, background)
        let stage = fixed(picture.widget)
        gtk_widget_set_halign(stage, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(stage, GTK_ALIGN_CENTER)
        gtk_window_set_child(window, stage)
        return picture
    }

    private func still(of picture: Picture, _ transformer: ImageTransformer?) async throws -> WebImage {
        _ = try await picture.setImage(with: ImageRequest(url: context.fresh(Self.portrait), transformer: transformer))
            .response
        return try await still(of: picture)
    }

    private func still(of picture: Picture) async throws -> WebImage {
        let film = Film(picture.widget)
        defer { film.stop() }
        try await waitForFrames(3, in: film)
        return try film.lastFrame()
    }

    private func still(of placeholder: ImagePlaceholder?) async throws -> WebImage {
        let picture = show(background: "background")
        let task = picture.setImage(with: context.fresh(Self.image, .late), placeholder: placeholder)
        // One that is loaded itself is there by then.
        try await Task.sleep(for: .milliseconds(700))
        let image = try await still(of: picture)
        guard !task.isFinished else {
            throw Screenshot.Failure(description: "An image was loaded before its placeholder was seen.")
        }
        return image
    }

    /// - Returns: `nil` if frames are missing.
    private func film(of indicator: ImageIndicator) async throws -> WebImage? {
        let picture = show(background: "on-image")
        var indicator = indicator
        indicator.delay = .zero
        picture.imageIndicator = indicator
        let film = Film(picture.widget)
        defer { film.stop() }
        let url = context.slow(Self.image, rate: 50)
        let task = picture.setImage(with: url, placeholder: .color(ImageColor(0x241F31)))
        // The first frame with a widget is before the indicator.
        try await waitForFrames(2, in: film)
        let start = film.count - 1
        try await wait { task.isFinished }
        let count = Int((film.time(of: film.count - 1) - film.time(of: start)) / Self.step)
        guard count > 0 else { return nil }
        try await waitForFrames(2, in: film)
        let (image, distance) = try animation(of: film, from: film.time(of: start), count: count)
        return distance <= Self.tolerance ? image : nil
    }

    /// - Returns: `nil` if frames are missing.
    private func film(of transition: ImageTransition) async throws -> WebImage? {
        let picture = show(background: "chequered")
        _ = try await picture.setImage(with: context.fresh(Self.earlierImage)).response
        let film = Film(picture.widget)
        defer { film.stop() }
        try await waitForFrames(2, in: film)
        var start = 0
        var transition = transition
        transition.onStart = { start = film.count }
        picture.imageTransition = transition
        let options = BindingOptions(whileLoading: .currentImage, display: .animated, awaitsTransition: true)
        _ = try await picture.setImage(with: context.fresh(Self.image), options: options).response
        try await waitForFrames(2, in: film)
        let (image, distance) = try animation(
            of: film,
            from: film.time(of: start),
            count: Self.frameCount,
            firstDuration: Self.pause
        )
        return distance <= Self.tolerance ? image : nil
    }

    /// Makes an animation of frames at equal distances, and of the last frame.
    /// - Returns: The animation, and how far its frames are from their times at most, in microseconds.
    private func animation(of film: Film, from start: Int64, count: Int, firstDuration: Duration = frameDuration) throws
        -> (image: WebImage, distance: Int64)
    {
        let shots = try (0..<count).map { try film.frame(nearest: start + Int64($0) * Self.step) }
        let frames = shots.map(\.image) + [try film.lastFrame()]
        let durations = [firstDuration] + Array(repeating: Self.frameDuration, count: count - 1) + [Self.pause]
        guard let image = WebImage(frames: frames, durations: durations) else {
            throw Screenshot.Failure(description: "There is no memory for an animation.")
        }
        return (image, shots.map(\.distance).max() ?? 0)
    }

    private func waitForFrames(_ count: Int, in film: Film) async throws {
        let end = film.count + count
        try await wait { film.count >= end }
    }

    /// Waits for a condition that comes true with a frame, or fails.
    private func wait(until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                throw Screenshot.Failure(description: "A figure did not come to rest within 20 seconds.")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
