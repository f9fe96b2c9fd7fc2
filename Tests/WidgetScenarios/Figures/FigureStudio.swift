internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

/// Shows one figure after the other, and saves them: films as GIF, others as JPEG, which are formats that docc takes.
@MainActor
final class FigureStudio {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What most figures show.
    static let image = "desert-dunes.jpg"
    /// The image before it.
    private static let earlierImage = "dusk-mountains.jpg"
    private static let portrait = "astronaut.jpg"
    private static let frameDuration = Duration.milliseconds(60)
    private static let frameCount = 16
    /// The length of the film of a transition.
    static let transitionDuration = frameDuration * frameCount
    private static let step = Int64(frameDuration / .microseconds(1))
    /// How long the first and the last frame of a film are seen.
    private static let pause = Duration.milliseconds(800)
    /// How far a frame may be from its time in a film, in microseconds.
    private static let tolerance: Int64 = 30_000

    private let stage: Stage
    private let isDark: Bool
    /// What the widget has drawn, frame by frame, with the times in microseconds.
    private var film: [(time: Int64, image: WebImage)] = []
    private var picture: Picture?

    /// - Parameter isDark: Whether the style is dark. Only the figures that have its colours are saved then, with `~dark` in their
    ///   names.
    init(isDark: Bool) throws {
        self.isDark = isDark
        let gate = ServerGate()
        stage = try Stage { request in
            let parts = request.path.split(separator: "/").map(String.init)
            var response = ServerResponse.file("\(ShippedImage.folder)/\(parts[1])")
            switch parts[0] {
            case "slow": response.faults.drip = (bytes: 2000, every: .milliseconds(40))
            case "never": response.faults.gate = gate
            default: break
            }
            return response
        }
        stage.setSetting("gtk-application-prefer-dark-theme", isDark ? 1 : 0)
        stage.addStyle(
            """
            .chequered {
                background: conic-gradient(#c0c0c0 25%, #ffffff 25% 50%, #c0c0c0 50% 75%, #ffffff 75%) 0 0 / 20px 20px;
            }
            .on-image { color: #ffffff; }
            """
        )
        stage.present()
        stage.afterPaint { [weak self] in self?.takeFrame() }
    }

    /// Saves all figures in a folder.
    func saveAll(in folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for figure in try Figure.all() where figure.followsStyle || !isDark {
            let image = try photograph(figure)
            var options = EncodeOptions()
            options.quality = 0.85
            let format: ImageFormat = image.frameCount > 1 ? .gif : .jpeg
            let name = "\(figure.name)\(isDark ? "~dark" : "").\(format == .gif ? "gif" : "jpg")"
            try image.data(as: format, options: options).write(to: folder.appending(path: name))
        }
    }

    private func photograph(_ figure: Figure) throws -> WebImage {
        switch figure.subject {
        case .transformer(let transformer):
            let picture = show(width: 112, height: 112, background: "chequered")
            picture.contentFit = .scaleDown
            return try still(of: picture, transformer)
        case .fit(let fit):
            let picture = show(background: "chequered")
            picture.contentFit = fit
            // The image is smaller than the widget, so that the fits differ.
            return try still(of: picture, .resize(to: PixelSize(width: 64, height: 64)))
        case .placeholder(let placeholder):
            let picture = show(background: "background")
            picture.setImage(with: url(Self.image, "never"), placeholder: placeholder)
            // One that is loaded itself is there by then.
            _ = MainLoopPump.run(until: { false }, timeout: .milliseconds(700))
            return try lastFrame()
        case .indicator(let indicator):
            return try retry(figure) { try filmIndicator(indicator) }
        case .transition(let transition):
            return try retry(figure) { try filmTransition(transition) }
        }
    }

    /// Makes a film again while a busy computer drops frames of it.
    private func retry(_ figure: Figure, _ film: () throws -> WebImage?) throws -> WebImage {
        for _ in 0..<20 {
            if let film = try film() { return film }
        }
        throw Failure(description: "Frames of \(figure.name) are late. Close other programs.")
    }

    /// Puts a new widget into the window. The size of most figures is that of images that are not cropped.
    private func show(width: Int32 = 128, height: Int32 = 80, background: String) -> Picture {
        if let picture { stage.remove(picture.widget) }
        let shown = stage.addImage(width: width, height: height)
        gtk_widget_set_overflow(shown.widget, GTK_OVERFLOW_HIDDEN)
        gtk_widget_add_css_class(shown.widget, background)
        shown.contentFit = .cover
        picture = shown
        film = []
        return shown
    }

    private func still(of picture: Picture, _ transformer: ImageTransformer?) throws -> WebImage {
        let request = ImageRequest(url: url(Self.portrait), transformer: transformer)
        try finish(picture.setImage(with: request))
        return try lastFrame()
    }

    /// - Returns: `nil` if frames are missing.
    private func filmIndicator(_ indicator: ImageIndicator) throws -> WebImage? {
        let picture = show(background: "on-image")
        picture.imageIndicator = indicator
        picture.imageIndicator?.delay = .zero
        let task = picture.setImage(with: url(Self.image, "slow"), placeholder: .color(ImageColor(0x241F31)))
        // The first frame with a widget is before the indicator.
        try waitForFrames(2)
        let start = film[film.count - 1].time
        try finish(task)
        let count = Int((film[film.count - 1].time - start) / Self.step)
        guard count > 0 else { return nil }
        return try animation(from: start, count: count, firstDuration: Self.frameDuration)
    }

    /// - Returns: `nil` if frames are missing.
    private func filmTransition(_ transition: ImageTransition) throws -> WebImage? {
        let picture = show(background: "chequered")
        try finish(picture.setImage(with: url(Self.earlierImage)))
        try waitForFrames(2)
        var start = 0
        picture.imageTransition = transition
        picture.imageTransition?.onStart = { [weak self] in start = self?.film.count ?? 0 }
        let options = BindingOptions(whileLoading: .currentImage, display: .animated, awaitsTransition: true)
        try finish(picture.setImage(with: url(Self.image), options: options))
        return try animation(from: film[start].time, count: Self.frameCount, firstDuration: Self.pause)
    }

    /// Makes an animation of frames at equal distances, and of the last frame.
    /// - Returns: `nil` if a frame is far from its time.
    private func animation(from start: Int64, count: Int, firstDuration: Duration) throws -> WebImage? {
        let last = try lastFrame()
        let times = (0..<count).map { start + Int64($0) * Self.step }
        let shots = times.compactMap { time in film.min { abs($0.time - time) < abs($1.time - time) } }
        guard zip(shots, times).allSatisfy({ abs($0.time - $1) <= Self.tolerance }) else { return nil }
        let durations = [firstDuration] + Array(repeating: Self.frameDuration, count: count - 1) + [Self.pause]
        return WebImage(frames: shots.map(\.image) + [last], durations: durations)
    }

    private func lastFrame() throws -> WebImage {
        try waitForFrames(3)
        return film[film.count - 1].image
    }

    // Waiting

    private func takeFrame() {
        guard let picture, let image = rendered(picture.widget) else { return }
        film.append((Int64(gdk_frame_clock_get_frame_time(gtk_widget_get_frame_clock(stage.window))), image))
        // A widget at rest would not be drawn again.
        gtk_widget_queue_draw(picture.widget)
    }

    private func waitForFrames(_ count: Int) throws {
        let end = film.count + count
        // The first frame of a widget at rest has to be asked for.
        if let picture { gtk_widget_queue_draw(picture.widget) }
        try wait { film.count >= end }
    }

    private func finish(_ task: ImageTask) throws { try wait { task.isFinished } }

    private func wait(until condition: () -> Bool) throws {
        guard MainLoopPump.run(until: condition, timeout: .seconds(20)) else {
            throw Failure(description: "A figure did not come to rest within 20 seconds.")
        }
    }

    /// The URL of an image of the gallery, a new one each time.
    private func url(_ name: String, _ way: String = "normal") -> URL {
        serial += 1
        return stage.server.url("/\(way)/\(name)?\(serial)")
    }

    private var serial = 0
}
