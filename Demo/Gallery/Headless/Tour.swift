internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import Synchronization

/// Runs --scroll-through, --trace and --screenshot: it operates the gallery without a user, frame by frame.
@MainActor
final class Tour {
    private let window: GalleryWindow
    private let server: ImageServer
    private let options: GalleryOptions
    private let end: (String?) -> Void
    private var trace = ""
    /// The last known content of each cell, so that only changes are traced.
    private var seen: [UnsafeMutableRawPointer: (URL, WebImage?)] = [:]
    /// The number of frames since all images came to rest. A loaded image is drawn in the next frame.
    private var restingFrames = 0
    private var firstFrame: ContinuousClock.Instant?
    private var isEnded = false
    private var screenshotAttempts = 0
    private var isDone = false
    private let partialImages = PartialImageCount()
    private var observation: ObservationToken?

    /// - Parameter end: Called once at the end, with an error message in case of failure.
    init(_ window: GalleryWindow, server: ImageServer, options: GalleryOptions, end: @escaping (String?) -> Void) {
        self.window = window
        self.server = server
        self.options = options
        self.end = end
        guard options.trace != nil else { return }
        observation = ImageManager.shared.observe { [partialImages] event in
            if case .partial = event.kind { partialImages.value.withLock { $0 += 1 } }
        }
    }

    func start() {
        gtk_widget_add_tick_callback(
            window.window,
            { _, _, context in
                let tour = Unmanaged<Tour>.fromOpaque(context!).takeUnretainedValue()
                return MainActor.assumeIsolated { tour.frame() } ? 1 : 0
            },
            Unmanaged.passRetained(self).toOpaque(),
            { Unmanaged<Tour>.fromOpaque($0!).release() }
        )
    }

    /// - Returns: Whether the tour continues.
    private func frame() -> Bool {
        guard !isDone else { return false }
        noteChanges()
        restingFrames = isTime ? restingFrames + 1 : 0
        guard restingFrames >= 3 else { return true }
        restingFrames = 0
        guard options.scrollThrough || options.screenshot != nil else {
            // A user operates the gallery, and the trace follows.
            try? writeTrace()
            return true
        }
        noteRest()
        if options.scrollThrough, window.current?.wall?.grid.scrollDown() == true { return true }
        isDone = true
        // An animated widget has no content between the start of a frame and its end.
        guard let clock = gtk_widget_get_frame_clock(window.window) else {
            end(finish())
            return false
        }
        connect(clock, "after-paint") { [weak self] in
            guard let self, !isEnded else { return }
            // A window that has just changed may have no content in this frame.
            screenshotAttempts += 1
            guard screenshotAttempts > 20 || options.screenshot == nil || Screenshot.isPossible(window.window) else {
                return gtk_widget_queue_draw(window.window)
            }
            isEnded = true
            end(finish())
        }
        gtk_widget_queue_draw(window.window)
        return false
    }

    /// Whether all images are at rest, or the time for a screenshot has come.
    private var isTime: Bool {
        guard let seconds = options.screenshotAfter else { return window.isAtRest }
        let start = firstFrame ?? .now
        firstFrame = start
        return ContinuousClock.now - start >= .seconds(seconds)
    }

    private func noteChanges() {
        guard options.trace != nil else { return }
        for cell in window.current?.wall?.cells ?? [] {
            let image = cell.picture.currentImage
            let address = cell.picture.nativeWidgetPointer
            if let (url, old) = seen[address], url == cell.url, old == image { continue }
            seen[address] = (cell.url, image)
            trace += "shown \(cell.url.absoluteString) \(image.map(Self.color) ?? "nothing")\n"
        }
    }

    private func noteRest() {
        guard options.trace != nil else { return }
        for cell in window.current?.wall?.cells ?? [] where cell.isMapped {
            trace += "rest \(cell.url.absoluteString) \(cell.picture.currentImage.map(Self.color) ?? "nothing")\n"
        }
    }

    /// Returns the colour of the centre pixel.
    private static func color(_ image: WebImage) -> String {
        let pixels = image.pixels
        let offset = pixels.size.height / 2 * pixels.bytesPerRow + pixels.size.width / 2 * pixels.format.bytesPerPixel
        return pixels.withUnsafeBytes { bytes in
            bytes[offset..<offset + 3].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }

    private func writeTrace() throws {
        guard let file = options.trace else { return }
        var trace = trace
        if let numbers = window.current?.wall?.counts.all { trace += "counted \(numbers.text)\n" }
        trace += "partial images \(partialImages.value.withLock { $0 })\n"
        let controls = ControlNames.controls(below: window.window)
        trace += controls.map { "control \($0.type) \($0.isNamed ? "named" : "unnamed")\n" }.joined()
        let texts = ControlNames.texts(in: window.window, onScreen: true)
        trace += texts.map { "text \($0.replacing("\n", with: " "))\n" }.joined()
        let source = window.shownSource?.split(separator: "\n", omittingEmptySubsequences: false) ?? []
        trace += source.map { "source \($0)\n" }.joined()
        trace += server.requestedPaths.map { "requested \($0)\n" }.joined()
        try trace.write(toFile: file, atomically: true, encoding: .utf8)
    }

    private func finish() -> String? {
        do {
            try writeTrace()
            if let file = options.screenshot { try Screenshot.save(window.window, to: file) }
            return nil
        } catch {
            return "\(error)"
        }
    }
}

/// Counts the partial images of all loads, on any thread.
private final class PartialImageCount: Sendable {
    let value = Mutex(0)
}

extension LoadCounts.Numbers {
    fileprivate var text: String {
        "\(loads) loads, \(memory) memory, \(disk) disk, \(network) network, \(failed) failed, \(cancelled) cancelled"
    }
}
