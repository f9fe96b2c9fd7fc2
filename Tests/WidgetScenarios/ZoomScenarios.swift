internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import GtkWebImageZoom
import Synchronization
import TestSupport
import WebImageTesting

/// A JPEG of 6 megapixels with noise, so that each pixel is in one place only.
private let noise: Data = {
    var generator = SeededGenerator(seed: 5)
    let pixels = PixelBuffer(size: PixelSize(width: 3000, height: 2000), format: .rgb) { memory in
        for index in memory.indices { memory[index] = UInt8(index / 9000 / 8 & 127) + UInt8(generator.next() & 127) }
    }
    var options = EncodeOptions()
    options.quality = 0.8
    return (try? WebImage(pixels: pixels!).data(as: .jpeg, options: options)) ?? Data()
}()

private func serveNoise(_ request: ServerRequest) -> ServerResponse {
    request.path == "/missing" ? .notFound : .ok(noise, contentType: "image/jpeg")
}

/// A window with a view of the image.
@MainActor
private func zoomed(
    path: String = "/map.jpg",
    configure: (inout ImageManager.Configuration) -> Void = { _ in }
) throws -> (Stage, ZoomView) {
    let stage = try Stage(serveNoise, configure: configure)
    let view = ZoomView()
    view.setImageDescription("A map")
    stage.append(view.widget)
    view.setImage(with: stage.server.url(path))
    stage.present()
    return (stage, view)
}

@MainActor
private func waitUntilShown(_ view: ZoomView, file: StaticString = #fileID, line: UInt = #line) {
    let isDone = MainLoopPump.run(until: { !view.isLoading })
    expect(isDone, "the view is loading \(String(describing: view.error))", file: file, line: line)
}

/// Emits a signal of the controller of a type, as GTK does for events.
@MainActor
func emit(_ signal: String, of type: String, in view: some GtkWidgetConvertible, _ numbers: Double...) throws {
    let list = gtk_widget_observe_controllers(view.widget)!
    defer { g_object_unref(UnsafeMutableRawPointer(list)) }
    let controllers = (0..<g_list_model_get_n_items(list)).compactMap { g_list_model_get_item(list, $0) }
    defer { for controller in controllers { g_object_unref(controller) } }
    let controller = try require(
        controllers.first {
            String(cString: g_type_name_from_instance($0.assumingMemoryBound(to: GTypeInstance.self))) == type
        }
    )
    var values = [GValue](repeating: GValue(), count: numbers.count + 1)
    g_value_init(&values[0], g_type_from_name(type))
    g_value_set_object(&values[0], controller)
    for (index, number) in numbers.enumerated() {
        g_value_init(&values[index + 1], g_type_from_name("gdouble"))
        g_value_set_double(&values[index + 1], number)
    }
    var result = GValue()
    if signal == "scroll" { g_value_init(&result, g_type_from_name("gboolean")) }
    g_signal_emitv(&values, g_signal_lookup(signal, g_type_from_name(type)), 0, &result)
    for index in values.indices { g_value_unset(&values[index]) }
}

extension Scenario {
    static let zoom: [Scenario] = [
        Scenario("A large image is shown whole, and zoomed in pixel for pixel", .drawing, .density) {
            let (stage, view) = try zoomed()
            waitUntilShown(view)
            let image = try require(view.image)
            expectEqual(image.size, PixelSize(width: 3000, height: 2000))
            expectEqual(view.visibleRegion, image.bounds)
            expect(view.zoom < 1 && view.reduction > 1, "\(view.zoom)")
            view.zoom = 1
            waitUntilShown(view)
            stage.waitForFrame()
            expectEqual(view.reduction, 1)
            let region = try require(view.visibleRegion)
            expectEqual(region.size, view.widget.pixels)
            let drawn = try require(rendered(view.widget))
            let expected = Answers<WebImage>()
            Task { expected.all.append(try await image.region(region)) }
            expect(MainLoopPump.run(until: { !expected.all.isEmpty }))
            let whole = try require(expected.all.first)
            for (x, y) in [(0.01, 0.01), (0.5, 0.5), (0.3, 0.8), (0.99, 0.99), (0.75, 0.25)] {
                // The texture of a dense screen is downloaded at its own size.
                guard drawn.pixelSize == whole.pixelSize else { break }
                expectEqual(drawn.color(x, y), whole.color(x, y), "\(x), \(y)")
            }
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("The wheel and a pinch zoom about the pointer, and a drag moves the image") {
            let (stage, view) = try zoomed()
            waitUntilShown(view)
            let least = view.zoom
            view.zoom = 0.5
            let before = try require(view.visibleRegion)
            try emit("enter", of: "GtkEventControllerMotion", in: view, 0, 0)
            try emit("scroll", of: "GtkEventControllerScroll", in: view, 0, -4)
            expect(abs(view.zoom - 0.5 * 1.25 * 1.25 * 1.25 * 1.25) < 1e-9, "\(view.zoom)")
            let after = try require(view.visibleRegion)
            expect(abs(after.x - before.x) <= 2 && abs(after.y - before.y) <= 2, "\(before) \(after)")
            try emit("drag-begin", of: "GtkGestureDrag", in: view, 200, 200)
            try emit("drag-update", of: "GtkGestureDrag", in: view, -100, -50)
            try emit("drag-update", of: "GtkGestureDrag", in: view, -200, -100)
            let moved = try require(view.visibleRegion)
            let scale = Double(gtk_widget_get_scale_factor(view.widget))
            expect(abs(Double(moved.x - after.x) - 200 * scale / view.zoom) <= 2, "\(after) \(moved)")
            try emit("scroll", of: "GtkEventControllerScroll", in: view, 0, 100)
            expectEqual(view.zoom, least)
            try emit("scale-changed", of: "GtkGestureZoom", in: view, 1e9)
            expectEqual(view.zoom, view.maximumZoom)
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("The tiles that are kept take a few screens, however far one goes") {
            let (stage, view) = try zoomed()
            waitUntilShown(view)
            for step in 0..<60 {
                view.zoom = [1, 0.6, 2][step % 3]
                view.center(onX: step * 977 % 3000, y: step * 613 % 2000)
                waitUntilShown(view)
                // The small image of 1.5 megapixels, and 32 MB of tiles at least.
                let limit = 1500 * 1000 * 3 + max(view.widget.pixels.pixelCount * 24, 32 << 20)
                expect(view.pixelByteCount <= limit, "\(view.pixelByteCount)")
            }
            stage.remove(view.widget)
            // Nobody sees them any more.
            expectEqual(view.pixelByteCount, 1500 * 1000 * 3)
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("While tiles are decoded the view shows the small image, and the main loop runs") {
            let coder = HeldRegions()
            let (stage, view) = try zoomed { configuration in
                configuration.decoders = [coder]
                configuration.decoding = .inProcess
            }
            waitUntilShown(view)
            coder.gate.close()
            var changes = 0
            view.onChange = { changes += 1 }
            view.zoom = 1
            for step in 0..<20 {
                view.center(onX: step * 100, y: step * 70)
                stage.waitForFrame()
                expect(view.isLoading)
                expect(try require(rendered(view.widget)).color(0.5, 0.5) != 0, "nothing is drawn")
            }
            // Once in a turn of the main loop.
            expect(changes > 0 && changes <= 21, "\(changes)")
            coder.gate.open()
            waitUntilShown(view)
            // Those that were passed are not decoded one after the other.
            expect(coder.count < 20, "\(coder.count) regions")
        },

        Scenario("An image that cannot be loaded says so, and another takes its place") {
            let (stage, view) = try zoomed(path: "/missing")
            waitUntilShown(view)
            expectEqual(view.error?.code, .badStatus)
            expect(view.image == nil && view.visibleRegion == nil)
            view.zoom = 3
            view.zoomToFit()
            let results = Answers<Result<TiledImage, ImageError>>()
            view.setImage(with: stage.server.url("/one")) { results.all.append($0) }
            view.setImage(with: stage.server.url("/two")) { results.all.append($0) }
            expect(MainLoopPump.run(until: { results.all.count == 2 }))
            waitUntilShown(view)
            let errors = results.all.compactMap { result -> ImageError.Code? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            expectEqual(errors, [.cancelled])
            expect(view.error == nil && view.image?.url == stage.server.url("/two"))
            view.setImage(with: URL?.none)
            expect(view.image == nil && !view.isLoading && view.pixelByteCount == 0)
        },

        Scenario("A tile that is damaged is tried again when it comes into view again, and no sooner") {
            // Given a view of a part that cannot be decoded
            let coder = HeldRegions()
            let (stage, view) = try zoomed { configuration in
                configuration.decoders = [coder]
                configuration.decoding = .inProcess
            }
            waitUntilShown(view)
            coder.fail(with: DecodeOptions().badData("The tile is damaged"))
            view.zoom = 1
            view.center(onX: 100, y: 100)
            waitUntilShown(view)
            expectEqual(view.error?.code, .badImageData)
            let count = coder.count
            for _ in 0..<20 { stage.waitForFrame() }
            expectEqual(coder.count, count)
            // When it can be decoded again, and the view goes elsewhere
            coder.fail(with: nil)
            view.center(onX: 2900, y: 1900)
            waitUntilShown(view)
            expect(view.error == nil, "\(String(describing: view.error))")
            expectEqual(coder.count, count + 1)
            // Then it is decoded when it is visible again
            view.center(onX: 100, y: 100)
            waitUntilShown(view)
            expect(view.error == nil, "\(String(describing: view.error))")
            expectEqual(coder.count, count + 2)
        },

        Scenario("A tile for which there is no memory is tried again after a while") {
            let coder = HeldRegions()
            let (stage, view) = try zoomed { configuration in
                configuration.decoders = [coder]
                configuration.decoding = .inProcess
            }
            waitUntilShown(view)
            let count = coder.count
            // Given a view that stands still where memory is short
            coder.fail(with: DecodeOptions().outOfMemory(PixelSize(width: 512, height: 512)))
            view.zoom = 1
            waitUntilShown(view)
            expectEqual(view.error?.code, .imageTooLarge)
            for _ in 0..<10 { stage.waitForFrame() }
            expect(coder.count <= count + 2, "\(coder.count - count) decodes in a few frames")
            // When there is memory again, then the tiles come by themselves
            coder.fail(with: nil)
            expect(MainLoopPump.run(until: { view.error == nil && !view.isLoading }))
        },

        Scenario("A completion is called where there is no URL, and where a view goes that was never mapped") {
            let results = Answers<Result<TiledImage, ImageError>>()
            let (stage, view) = try zoomed(path: "/missing")
            view.setImage(with: URL?.none) { results.all.append($0) }
            expect(results.all.isEmpty && MainLoopPump.run(until: { results.all.count == 1 }))
            var hidden: ZoomView? = ZoomView()
            hidden?.setImage(with: stage.server.url("/one")) { results.all.append($0) }
            expect(hidden?.isLoading == true)
            hidden = nil
            expect(MainLoopPump.run(until: { results.all.count == 2 }))
            let errors = results.all.compactMap { result -> ImageError.Code? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            expectEqual(errors, [.invalidURL, .cancelled])
        },

        Scenario("A view that is closed while it decodes starts no further decodes") {
            let coder = HeldRegions()
            let (stage, view) = try zoomed { configuration in
                configuration.decoders = [coder]
                configuration.decoding = .inProcess
            }
            waitUntilShown(view)
            coder.gate.close()
            view.zoom = 1
            expect(MainLoopPump.run(until: { coder.isHeld }))
            gtk_window_destroy(stage.window.as(GtkWindow.self))
            // What is waited for is the decode that runs, and no tile after it.
            let count = coder.count
            coder.gate.open()
            expect(MainLoopPump.run(until: { stage.manager.pendingWorkCount == 0 }))
            expectEqual(coder.count, count + 1)
            expect(view.pixelByteCount <= 1500 * 1000 * 3, "\(view.pixelByteCount)")
        },
    ]
}

/// What asynchronous calls have answered.
@MainActor
private final class Answers<Answer> {
    var all: [Answer] = []
}

/// Decodes regions when its gate is open.
private final class HeldRegions: ExtendedDecoding {
    let gate = Gate()
    private let counts = Mutex((started: 0, ended: 0))
    private let coders = CoderRegistry.builtIn
    private let failure = Mutex<ImageError?>(nil)

    /// Has all regions fail from now on, or none.
    func fail(with error: ImageError?) { failure.withLock { $0 = error } }

    var count: Int { counts.withLock { $0.ended } }
    var isHeld: Bool { counts.withLock { $0.started > $0.ended } }

    private var regions: (any ExtendedDecoding)? { coders.decoder(for: .jpeg)?.extended }

    func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

    func decodesRegions(of data: Data) -> Bool { regions?.decodesRegions(of: data) == true }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try coders.decode(data, options: options)
    }

    func decode(
        _ region: DecodeRegion,
        of data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        counts.withLock { $0.started += 1 }
        gate.wait()
        defer { counts.withLock { $0.ended += 1 } }
        if let error = failure.withLock({ $0 }) { throw error }
        guard let regions else { throw .cancelled(options.url) }
        return try regions.decode(region, of: data, options: options, isCancelled: isCancelled)
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The size of the widget in device pixels.
    fileprivate var pixels: PixelSize {
        let scale = Int(gtk_widget_get_scale_factor(self))
        return PixelSize(
            width: Int(gtk_widget_get_width(self)) * scale,
            height: Int(gtk_widget_get_height(self)) * scale
        )
    }
}
