internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

/// A class of another GTK binding, with the pointer under the name that it has there. One line joins it.
@MainActor
private final class ForeignPicture {
    let gobjectPointer: UnsafeMutablePointer<GObject>

    init() {
        gobjectPointer = gtk_picture_new()!.as(GObject.self)
        g_object_ref_sink(gobjectPointer)
    }
}

extension ForeignPicture: PictureBindable {
    var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
}

extension Scenario {
    static let widgets: [Scenario] = [
        Scenario("An image survives the conversion to GdkTexture and GdkPixbuf and back") {
            let size = PixelSize(width: 3, height: 2)
            for format in [PixelBuffer.Format.rgb, .rgbaPremultiplied] {
                let pixels = PixelBuffer(size: size, format: format) { memory in
                    for index in memory.indices {
                        memory[index] = format == .rgb ? UInt8(index * 13) : [20, 40, 60, 255][index % 4]
                    }
                }
                let image = WebImage(pixels: try require(pixels), scale: 2)
                let expected = image.pixels.converted(to: .rgbaPremultiplied)?.withUnsafeBytes { Array($0) }
                let texture = image.makeTexture()
                let fromTexture = try require(WebImage(texture: texture, scale: 2))
                expectEqual(fromTexture.pixels.withUnsafeBytes { Array($0) }, expected)
                expectEqual(fromTexture.scale, 2)
                g_object_unref(UnsafeMutableRawPointer(texture))
                let pixbuf = try require(image.makePixbuf())
                let fromPixbuf = try require(WebImage(pixbuf: pixbuf))
                expectEqual(fromPixbuf.pixels.format == format, true)
                expectEqual(fromPixbuf.pixels.withUnsafeBytes { Array($0) }, image.pixels.withUnsafeBytes { Array($0) })
                g_object_unref(UnsafeMutableRawPointer(pixbuf))
            }
        },

        Scenario("A button shows its image as its child") {
            let stage = try Stage()
            let button = Button()
            gtk_widget_set_size_request(button.widget, 80, 60)
            stage.append(button.widget)
            stage.present()
            button.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(button.currentImage?.color, 0x336699)
            expectEqual(button.imageBinding.request?.url, stage.url(0x336699))
            let child = try require(gtk_button_get_child(button.widget.as(GtkButton.self)))
            expect(gtk_picture_get_paintable(child.opaque) != nil, "the child has no paintable")
            expect(stage.waitForFrame())
        },

        Scenario("A scrolled window shows its image, which GTK puts into a viewport") {
            let stage = try Stage()
            let scrolled = gtk_scrolled_window_new()!
            gtk_widget_set_size_request(scrolled, 200, 200)
            stage.append(scrolled)
            stage.present()
            let pointer = WidgetPointer(UnsafeMutableRawPointer(scrolled))
            for (number, color) in [UInt32(0x336699), 0x445566].enumerated() {
                pointer.setImage(with: stage.url(color), completion: stage.completion)
                stage.waitForResults(number + 1)
                expectEqual(pointer.currentImage?.color, color)
            }
            // And nothing once the app has given it another child
            gtk_scrolled_window_set_child(scrolled.opaque, gtk_label_new("text"))
            expect(pointer.currentImage == nil)
        },

        Scenario("An image in a closed expander is loaded when it is opened, at the size of its place") {
            let stage = try Stage()
            let expander = gtk_expander_new("More")!
            gtk_widget_set_size_request(expander, 200, 200)
            stage.append(expander)
            stage.present()
            let pointer = WidgetPointer(UnsafeMutableRawPointer(expander))
            pointer.setImage(
                with: stage.url(0x336699, "800x800"),
                completion: stage.completion
            )
            // The layout is waited for over several frames.
            for _ in 0..<10 { expect(stage.waitForFrame()) }
            expectEqual(stage.server.requests.count, 0)
            gtk_expander_set_expanded(expander.opaque, 1)
            stage.waitForResults(1)
            expectEqual(pointer.currentImage?.color, 0x336699)
            expect((pointer.currentImage?.pixelSize.width ?? 800) <= 400, "\(String(describing: pointer.currentImage))")
            // And a load whose place the app has given to something else ends all the same
            let button = Button()
            button.setImage(with: stage.url(0x445566), completion: stage.completion)
            gtk_button_set_label(button.widget.as(GtkButton.self), "Text")
            stage.append(button.widget)
            stage.waitForResults(2)
            // Also where the place was hidden before
            let revealer = gtk_revealer_new()!
            stage.append(revealer)
            expect(stage.waitForFrame())
            WidgetPointer(UnsafeMutableRawPointer(revealer)).setImage(
                with: stage.url(0x778899),
                completion: stage.completion
            )
            for _ in 0..<5 { expect(stage.waitForFrame()) }
            gtk_revealer_set_child(revealer.opaque, gtk_label_new("Text"))
            stage.waitForResults(3)
        },

        Scenario("A label that the app sets on a button stays when an earlier load ends") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let button = Button()
            stage.append(button.widget)
            stage.present()
            button.setImage(with: stage.url(0x336699), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            gtk_button_set_label(button.widget.as(GtkButton.self), "Label")
            gate.open()
            stage.waitForResults(1)
            expectEqual(stage.results.map(\.errorCode), [nil])
            expectEqual(String(cString: gtk_button_get_label(button.widget.as(GtkButton.self))), "Label")
            expect(button.currentImage == nil)
            // The next image replaces the label.
            button.setImage(with: stage.url(0x445566), completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(button.currentImage?.color, 0x445566)
        },

        Scenario("The image of a button can be awaited") {
            let stage = try Stage()
            let button = Button()
            stage.append(button.widget)
            stage.present()
            let log = EventLog<UInt32>()
            let url = stage.url(0x336699)
            Task { @MainActor in
                if let response = try? await button.setImage(with: url).response {
                    log.add(response.image.color)
                }
            }
            expect(MainLoopPump.run(until: { log.all == [0x336699] }))
        },

        Scenario("A class of another binding joins with one line, and a raw pointer needs none") {
            let stage = try Stage()
            let foreign = ForeignPicture()
            let raw = gtk_picture_new()!
            gtk_widget_set_size_request(foreign.widget, 50, 50)
            gtk_widget_set_size_request(raw, 50, 50)
            stage.append(foreign.widget)
            stage.append(raw)
            stage.present()
            foreign.setImage(with: stage.url(0x111111), completion: stage.completion)
            WidgetPointer(raw).setImage(
                with: stage.url(0x222222),
                completion: stage.completion
            )
            stage.waitForResults(2)
            expectEqual(foreign.currentImage?.color, 0x111111)
            expectEqual(WidgetPointer(OpaquePointer(raw)).currentImage?.color, 0x222222)
        },

        Scenario("Any widget can be bound through a closure that takes the paintable") {
            let stage = try Stage()
            let image = gtk_image_new()!
            gtk_image_set_pixel_size(image.opaque, 48)
            stage.append(image)
            stage.present()
            var calls = 0
            for color in [0x111111, 0x222222] as [UInt32] {
                let binding = WidgetPointer(image).imageBinding(for: .image) { paintable in
                    calls += 1
                    gtk_image_set_from_paintable(image.opaque, paintable)
                }
                binding.setImage(with: stage.url(color), completion: stage.completion)
            }
            stage.waitForResults(2)
            expectEqual(calls, 1)
            let paintable = try require(gtk_image_get_paintable(image.opaque))
            expectEqual(gdk_paintable_get_intrinsic_width(paintable), 64)
            expect(stage.waitForFrame())
        },

        Scenario("The manager of a widget loads the images of all its places") {
            let stage = try Stage()
            let (shared, own) = (FakeLoader(), FakeLoader())
            ImageManager.shared = .testing(shared)
            let (button, picture) = (Button(), stage.addImage())
            stage.append(button.widget)
            button.imageBinding.manager = .testing(own)
            picture.imageBinding.highlighted.manager = button.imageBinding.manager
            stage.present()
            let urls = (0..<4).map { stage.url(UInt32($0)) }
            button.setImage(with: urls[0])
            button.setImage(with: urls[1], for: .highlighted)
            button.setBackgroundImage(with: urls[2])
            picture.clearImage(placeholder: .url(urls[3]))
            expect(MainLoopPump.run(until: { own.started.count == 4 }))
            expectEqual(Set(own.started), Set(urls))
            expectEqual(shared.started, [])
        },

        Scenario("Any widget can show a paintable of the library without a binding") {
            let stage = try Stage()
            let paintable = ImagePaintable()
            let raw = gtk_picture_new_for_paintable(paintable.nativePaintable)!
            stage.append(raw)
            stage.present()
            let pixels = PixelBuffer(size: PixelSize(width: 30, height: 20), format: .rgb) { memory in
                memory.initializeMemory(as: UInt8.self, repeating: 200)
            }
            paintable.setImage(WebImage(pixels: pixels!))
            expect(stage.waitForFrame())
            expectEqual(gtk_widget_get_width(raw) > 0, true)
            expectEqual(gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(raw.opaque)), 30)
        },
    ]
}
