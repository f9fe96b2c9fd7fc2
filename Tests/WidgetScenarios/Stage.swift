internal import CWebImageGtk4
internal import CWebImageGtkShims
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

/// The window, server and manager with private caches that most scenarios start with. It records all results.
@MainActor
final class Stage {
    typealias Result = Swift.Result<ImageResponse, ImageError>

    let window: UnsafeMutablePointer<GtkWidget>
    let box: UnsafeMutablePointer<GtkWidget>
    let server: LocalImageServer
    let manager: ImageManager
    private let folder = TemporaryDirectory()
    private(set) var results: [Result] = []

    /// - Parameters:
    ///   - handler: Answers the requests to the server. Default: Stage/answer(_:).
    ///   - coders: Decoders that are tried before the built-in ones.
    ///   - formats: The formats that images may have.
    ///   - network: Tells whether the machine is online.
    ///   - configure: Changes the configuration of the manager.
    init(
        _ handler: @escaping @Sendable (ServerRequest) -> ServerResponse = Stage.answer,
        coders: [any ImageDecoding] = [],
        formats: Set<ImageFormat> = AllowedFormats.web,
        network: any NetworkMonitoring = AlwaysOnline(),
        configure: (inout ImageManager.Configuration) -> Void = { _ in }
    ) throws {
        server = try LocalImageServer(handler: handler)
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: folder.path)
        configuration.decoders = coders
        configuration.formats.network = formats
        configuration.retryPolicy = .never
        configuration.networkMonitor = network
        configure(&configuration)
        manager = ImageManager(configuration: configuration)
        ImageManager.shared = manager
        window = gtk_window_new()
        box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
        gtk_window_set_default_size(window.as(GtkWindow.self), 400, 400)
        gtk_window_set_child(window.as(GtkWindow.self), box)
    }

    /// Makes a stage whose server answers when the gate is open.
    convenience init(heldBy gate: ServerGate) throws {
        try self.init { request in
            var response = Stage.answer(request)
            response.faults.gate = gate
            return response
        }
    }

    /// Makes a stage whose server holds images of some colours, each until its gate is open.
    convenience init(gates: [UInt32: ServerGate]) throws {
        try self.init { request in
            var response = Stage.answer(request)
            response.faults.gate = request.path.split(separator: "/").first.flatMap { UInt32($0, radix: 16) }
                .flatMap { gates[$0] }
            return response
        }
    }

    /// Answers /RRGGBB/WxH.png with an image of that colour and size, and anything else with 404.
    nonisolated static func answer(_ request: ServerRequest) -> ServerResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count == 2, let color = UInt32(parts[0], radix: 16), let dot = parts[1].firstIndex(of: ".") else {
            return .notFound
        }
        let numbers = parts[1][..<dot].split(separator: "x").compactMap { Int($0) }
        guard numbers.count == 2 else { return .notFound }
        let format = parts[1].hasSuffix(".jpg") ? TestImage.Format.jpeg : .png
        let size = PixelSize(width: numbers[0], height: numbers[1])
        return .ok(TestImage.solid(color, size: size, format: format), contentType: "image/\(format.rawValue)")
    }

    func url(_ color: UInt32, _ size: String = "64x48", type: String = "png") -> URL {
        server.url("/\(Self.hex(color))/\(size).\(type)")
    }

    static func hex(_ color: UInt32) -> String {
        let digits = String(color, radix: 16)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    func append(_ widget: UnsafeMutablePointer<GtkWidget>) {
        gtk_box_append(box.as(GtkBox.self), widget)
    }

    func remove(_ widget: UnsafeMutablePointer<GtkWidget>) {
        gtk_box_remove(box.as(GtkBox.self), widget)
    }

    /// Adds an image widget with a size request to the window.
    func addImage(width: Int32 = 100, height: Int32 = 80) -> Picture {
        let picture = Picture()
        gtk_widget_set_size_request(picture.widget, width, height)
        gtk_widget_set_halign(picture.widget, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(picture.widget, GTK_ALIGN_CENTER)
        append(picture.widget)
        return picture
    }

    /// Shows the window and waits until it has been drawn.
    func present() {
        gtk_window_present(window.as(GtkWindow.self))
        expect(waitForFrame(), "the window was not drawn")
    }

    /// Turns the user's setting for animations on or off.
    func setAnimations(_ isOn: Bool) { setSetting("gtk-enable-animations", isOn ? 1 : 0) }

    /// Changes a setting of GTK that is a boolean or an enum.
    func setSetting(_ name: String, _ number: Int32) {
        var value = GValue()
        g_value_init(&value, g_type_from_name("gint"))
        defer { g_value_unset(&value) }
        g_value_set_int(&value, number)
        let settings = UnsafeMutableRawPointer(gtk_settings_get_default()!)
        g_object_set_property(settings.assumingMemoryBound(to: GObject.self), name, &value)
    }

    /// Adds a style sheet for all widgets.
    func addStyle(_ sheet: String) {
        let provider = gtk_css_provider_new()!
        gwi_css_provider_load(provider, sheet)
        let priority = guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION)
        gtk_style_context_add_provider_for_display(gtk_widget_get_display(window), OpaquePointer(provider), priority)
        g_object_unref(UnsafeMutableRawPointer(provider))
    }

    /// Calls back after each frame of the window during its lifetime.
    func afterPaint(_ body: @escaping @MainActor () -> Void) {
        guard let clock = gtk_widget_get_frame_clock(window) else { return }
        _ = FrameHandler.connect(body, to: "after-paint", of: clock)
    }

    /// Waits until the window has been drawn once more.
    @discardableResult
    func waitForFrame() -> Bool {
        guard let clock = gtk_widget_get_frame_clock(window) else { return false }
        // Frames that only lay out or tick are not drawn.
        var (isPainted, isDrawn) = (false, false)
        let handlers = [
            FrameHandler.connect({ isPainted = true }, to: "paint", of: clock),
            FrameHandler.connect({ isDrawn = isPainted }, to: "after-paint", of: clock),
        ]
        defer { for handler in handlers { g_signal_handler_disconnect(UnsafeMutableRawPointer(clock), handler) } }
        return MainLoopPump.run(until: {
            if !isDrawn { gtk_widget_queue_draw(self.window) }
            return isDrawn
        })
    }

    /// Clicks on a widget until that has had its effect.
    /// - Parameters:
    ///   - x: The place from its start to its end, 0 to 1. Default: its middle.
    ///   - button: The number of the button. Default: the left one.
    func click(
        _ clicked: some GtkWidgetConvertible,
        x: Float = 0.5,
        button: Int = 1,
        until isDone: () -> Bool
    ) throws {
        let display = try require(broadway)
        let (width, height) = (gtk_widget_get_width(clicked.widget), gtk_widget_get_height(clicked.widget))
        var (inside, inWindow) = (graphene_point_t(x: Float(width) * x, y: Float(height) / 2), graphene_point_t())
        expect(gtk_widget_compute_point(clicked.widget, window, &inside, &inWindow) != 0)
        // The first click may arrive before the display knows the position of the window.
        for _ in 0..<10 where !isDone() {
            display.click(x: Int(inWindow.x), y: Int(inWindow.y), button: button)
            _ = MainLoopPump.run(until: isDone, timeout: .seconds(1))
        }
    }

    /// A completion that records its result.
    var completion: @MainActor @Sendable (Result) -> Void {
        { [weak self] result in self?.results.append(result) }
    }

    /// Waits until that many completions have been called.
    func waitForResults(_ count: Int, file: StaticString = #fileID, line: UInt = #line) {
        let isDone = MainLoopPump.run(until: { self.results.count >= count })
        expect(isDone, "\(results.count) results instead of \(count)", file: file, line: line)
    }

    /// Waits until no load is in progress.
    func waitUntilIdle(file: StaticString = #fileID, line: UInt = #line) {
        let isIdle = MainLoopPump.run(until: { self.isIdle })
        expect(isIdle, "loads are left: \(manager.activeCounts)", file: file, line: line)
    }

    var isIdle: Bool { manager.activeCounts == (0, 0) }
}

/// What runs in each frame of a window.
@MainActor
private final class FrameHandler {
    private let body: @MainActor () -> Void

    private init(_ body: @escaping @MainActor () -> Void) {
        self.body = body
    }

    /// Runs a body after those of GTK.
    /// - Returns: The number of the handler, to disconnect it.
    static func connect(_ body: @escaping @MainActor () -> Void, to signal: String, of clock: OpaquePointer) -> gulong {
        let callback: @convention(c) (gpointer, gpointer) -> Void = { _, box in
            let handler = Unmanaged<FrameHandler>.fromOpaque(box).takeUnretainedValue()
            MainActor.assumeIsolated { handler.body() }
        }
        return g_signal_connect_data(
            UnsafeMutableRawPointer(clock),
            signal,
            unsafeBitCast(callback, to: GCallback.self),
            Unmanaged.passRetained(FrameHandler(body)).toOpaque(),
            { box, _ in Unmanaged<FrameHandler>.fromOpaque(box!).release() },
            // G_CONNECT_AFTER, which is a macro from GLib 2.90 on.
            GConnectFlags(rawValue: 1)
        )
    }
}

extension Result where Success == ImageResponse, Failure == ImageError {
    var errorCode: ImageError.Code? {
        if case .failure(let error) = self { return error.code }
        return nil
    }

    var source: LoadSource? { try? get().source }
}

extension GtkWidgetConvertible {
    var widget: UnsafeMutablePointer<GtkWidget> { nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self) }
}

extension UnsafeMutablePointer {
    var opaque: OpaquePointer { OpaquePointer(self) }

    func `as`<T>(_ type: T.Type) -> UnsafeMutablePointer<T> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: type)
    }
}

extension WebImage {
    /// The pixel in the middle as 0xRRGGBB, which JPEG changes slightly.
    var color: UInt32 {
        let offset = pixels.size.height / 2 * pixels.bytesPerRow + pixels.size.width / 2 * pixels.format.bytesPerPixel
        return pixels.withUnsafeBytes {
            UInt32($0[offset]) << 16 | UInt32($0[offset + 1]) << 8 | UInt32($0[offset + 2])
        }
    }
}
