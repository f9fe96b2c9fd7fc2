internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

extension Scenario {
    static let placeholders: [Scenario] = [
        Scenario("The placeholder is shown during the load and stays after a failure") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            stage.present()
            let placeholder = makeImage(0x00FF00)
            picture.setImage(with: stage.url(0x336699), placeholder: .image(placeholder))
            expectEqual(shownColor(picture), 0x00FF00)
            expect(picture.currentImage == nil, "a placeholder is not the image")
            picture.setImage(
                with: stage.server.url("/missing"),
                placeholder: .image(placeholder),
                completion: stage.completion
            )
            gate.open()
            stage.waitForResults(1)
            expectEqual(stage.results[0].errorCode, .badStatus)
            expectEqual(shownColor(picture), 0x00FF00)
        },

        Scenario("Without a URL the widget shows its error placeholder") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.errorPlaceholder = .image(makeImage(0xFF0000))
            picture.setImage(
                with: nil as URL?,
                placeholder: .image(makeImage(0x00FF00)),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(stage.results[0].errorCode, .invalidURL)
            expectEqual(shownColor(picture), 0xFF0000)
        },

        Scenario("The icon of a failure is drawn over the preview that was the placeholder") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.errorPlaceholder = .icon("image-missing-symbolic", size: 32)
            picture.setImage(
                with: stage.server.url("/missing"),
                placeholder: .image(solid(0x00FF00, width: 50, height: 40)),
                completion: stage.completion
            )
            stage.waitForResults(1)
            stage.waitForFrame()
            let shown = try require(rendered(picture.widget))
            expectEqual(shown.color(0.05, 0.05), 0x00FF00)
            expect(shown.difference(from: solid(0x00FF00, width: 100, height: 80)) > 0, "there is no icon")
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            expectEqual(gdk_paintable_get_intrinsic_width(paintable), 50, "the place of the preview")
        },

        Scenario("A delayed placeholder appears only when the load fails") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            let placeholder = ImagePlaceholder.image(makeImage(0x00FF00))
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            picture.setImage(
                with: stage.server.url("/missing"),
                placeholder: placeholder,
                options: BindingOptions(whileLoading: .currentImage),
                completion: stage.completion
            )
            expectEqual(shownColor(picture), 0x336699, "while it is loaded")
            stage.waitForResults(2)
            expectEqual(shownColor(picture), 0x00FF00, "when it has failed")
        },

        Scenario("Without a placeholder the widget is cleared, unless it keeps its current image") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            picture.setImage(
                with: stage.url(0x445566),
                options: BindingOptions(whileLoading: .placeholderOrCurrentImage)
            )
            expectEqual(shownColor(picture), 0x336699)
            picture.setImage(with: stage.url(0x778899), completion: stage.completion)
            expectEqual(shownColor(picture), nil)
            stage.waitForResults(2)
            expectEqual(shownColor(picture), 0x778899)
        },

        Scenario(
            "A widget that keeps its current image keeps it also when the load fails, unless there is a placeholder"
        ) {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            for (number, placeholder) in [nil, ImagePlaceholder.color(.black)].enumerated() {
                picture.setImage(
                    with: stage.server.url("/missing\(number).png"),
                    placeholder: placeholder,
                    options: BindingOptions(whileLoading: .currentImage),
                    completion: stage.completion
                )
                stage.waitForResults(number + 2)
                expectEqual(picture.currentImage?.color, placeholder == nil ? 0x336699 : nil)
            }
        },

        Scenario("A placeholder that is an image is loaded when the load starts, at the size of the widget") {
            // Given a server that holds the images
            let gate = ServerGate()
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if !request.path.hasPrefix("/00aa00") { response.faults.gate = gate }
                return response
            }
            let picture = Picture()
            gtk_widget_set_size_request(picture.widget, 100, 75)
            let placeholder = ImagePlaceholder.url(stage.url(0x00AA00, "400x300"))
            picture.setImage(
                with: stage.url(0x336699),
                placeholder: placeholder,
                completion: stage.completion
            )
            // Then nothing is loaded for a widget that nobody sees, or whose loads are suspended
            MainLoopPump.runPending()
            expectEqual(stage.server.requests.count, 0)
            WidgetPointer(UnsafeMutableRawPointer(stage.box)).images.isSuspended = true
            gtk_widget_set_halign(picture.widget, GTK_ALIGN_CENTER)
            stage.append(picture.widget)
            stage.present()
            expectEqual(stage.server.requests.count, 0)
            // When they go on, then the placeholder is shown
            WidgetPointer(UnsafeMutableRawPointer(stage.box)).images.isSuspended = false
            expect(MainLoopPump.run(until: { shownColor(picture) == 0x00AA00 }))
            expect(picture.currentImage == nil)
            // And that of a failure, or without an image, as soon as the widget is visible
            gate.open()
            stage.waitForResults(1)
            gtk_widget_set_visible(picture.widget, 0)
            picture.clearImage(placeholder: .url(stage.url(0x00BB00, "400x300")))
            stage.waitUntilIdle()
            expectEqual(stage.server.requests.count, 2)
            gtk_widget_set_visible(picture.widget, 1)
            expect(MainLoopPump.run(until: { shownColor(picture) == 0x00BB00 }))
            // It survives a cancelled load that has ended, and a move to another place while it loads
            picture.clearImage(placeholder: .url(stage.url(0x00CC00, "400x300")))
            picture.cancelImageLoad()
            stage.remove(picture.widget)
            MainLoopPump.runPending()
            stage.append(picture.widget)
            expect(MainLoopPump.run(until: { shownColor(picture) == 0x00CC00 }))
        },

        Scenario("Without a URL the placeholder is shown and the completion is called later") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            picture.setImage(with: nil as URL?, completion: stage.completion)
            expectEqual(shownColor(picture), nil)
            stage.waitForResults(2)
            expectEqual(stage.results[1].errorCode, .invalidURL)
        },

        Scenario("A hash in a string is a placeholder, and one that is no hash shows nothing") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.clearImage(placeholder: .blurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj"))
            stage.waitForFrame()
            expect(rendered(picture.widget)?.color(0.5, 0.5) != nil)
            picture.clearImage(placeholder: .thumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w"))
            stage.waitForFrame()
            expect(rendered(picture.widget)?.color(0.5, 0.5) != nil)
            expect(ImagePlaceholder.blurHash("no hash") == nil && ImagePlaceholder.thumbHash("?") == nil)
        },

        Scenario("A symbolic paintable has the text color, and a GtkSvg plays only while a widget shows it") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            stage.addStyle("* { color: #ff0000; }")
            let pictures = [stage.addImage(), stage.addImage()]
            stage.present()
            // Given an icon of the theme, or on GTK 4.22 a drawing whose left half changes
            let drawing = try require(makeDrawing() ?? makeIcon())
            let isSvg = makeDrawing() != nil
            defer { g_object_unref(UnsafeMutableRawPointer(drawing)) }
            let placeholder = ImagePlaceholder.paintable(drawing)
            // When two widgets show it
            for picture in pictures {
                picture.setImage(with: stage.url(0x0000FF), placeholder: placeholder, completion: stage.completion)
            }
            stage.waitForFrame()
            expectEqual(rendered(pictures[0].widget)?.color(0.55, 0.5), 0xFF0000)
            guard isSvg else { return }
            // Then it plays
            var colors: Set<UInt32?> = []
            let isMoving = MainLoopPump.run(until: {
                stage.waitForFrame()
                colors.insert(rendered(pictures[0].widget)?.color(0.3, 0.5))
                return colors.count > 2
            })
            expect(isMoving, "\(colors)")
            // And pauses with the last widget that shows it, hidden or with its image
            pictures[1].clearImage()
            expect(isPlaying(drawing))
            gtk_widget_set_visible(pictures[0].widget, 0)
            expect(!isPlaying(drawing))
            gtk_widget_set_visible(pictures[0].widget, 1)
            expect(isPlaying(drawing))
            pictures[0].clearImage()
            expect(!isPlaying(drawing))
            // Or replaced by the app
            let button = Button()
            stage.append(button.widget)
            button.setImage(with: stage.url(0x0000FF), placeholder: placeholder, completion: stage.completion)
            expect(MainLoopPump.run(until: { isPlaying(drawing) }))
            gtk_button_set_label(button.widget.as(GtkButton.self), "Label")
            expect(MainLoopPump.run(until: { !isPlaying(drawing) }))
            // And is no longer played with the image
            pictures[0].setImage(with: stage.url(0x0000FF), placeholder: placeholder, completion: stage.completion)
            expect(isPlaying(drawing))
            gate.open()
            stage.waitForResults(4)
            expect(!isPlaying(drawing))
        },

        Scenario("An icon placeholder is drawn in the middle and never larger than the widget") {
            let stage = try Stage()
            let picture = stage.addImage(width: 10, height: 200)
            stage.present()
            picture.setImage(
                with: stage.server.url("/missing"),
                placeholder: .icon("image-missing-symbolic", size: 48),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expect(stage.waitForFrame())
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            expectEqual(gdk_paintable_get_intrinsic_width(paintable), 48)
            let snapshot = gtk_snapshot_new()!
            gdk_paintable_snapshot(paintable, snapshot, 10, 200)
            let node = try require(gtk_snapshot_free_to_node(snapshot), "nothing was drawn")
            var bounds = graphene_rect_t()
            gsk_render_node_get_bounds(node, &bounds)
            expect(bounds.size.width <= 10 && bounds.origin.y >= 95, "drawn at \(bounds)")
            gsk_render_node_unref(node)
        },
    ]

    /// The colour in the middle of the widget's paintable, including placeholders.
    @MainActor
    private static func shownColor(_ picture: Picture) -> UInt32? {
        guard let paintable = gtk_picture_get_paintable(picture.widget.opaque),
            let still = gdk_paintable_get_current_image(paintable)
        else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(still)) }
        guard gwiIsTexture(still) else { return nil }
        let width = Int(gdk_texture_get_width(still))
        let height = Int(gdk_texture_get_height(still))
        var pixels = [UInt32](repeating: 0, count: width * height)
        pixels.withUnsafeMutableBytes { bytes in
            gdk_texture_download(still, bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), gsize(width * 4))
        }
        return pixels[height / 2 * width + width / 2] & 0xFFFFFF
    }

    /// A new GtkSvg whose right half has the text color; `nil` on GTK 4.20 and older.
    private static func makeDrawing() -> OpaquePointer? {
        typealias Make = @convention(c) (OpaquePointer?) -> OpaquePointer?
        guard let function = dlsym(nil, "gtk_svg_new_from_bytes") else { return nil }
        let drawing = """
            <svg xmlns="http://www.w3.org/2000/svg" width="100" height="80">
              <rect x="50" width="50" height="80" fill="url(#gpa:foreground)"/>
              <rect width="50" height="80"><animate attributeName="fill" values="#000;#0f0;#000" dur="1s" repeatCount="indefinite"/></rect>
            </svg>
            """
        let bytes = g_bytes_new(drawing, gsize(drawing.utf8.count))
        defer { g_bytes_unref(bytes) }
        return unsafeBitCast(function, to: Make.self)(bytes)
    }

    private static func makeIcon() -> OpaquePointer? {
        let theme = gtk_icon_theme_get_for_display(gdk_display_get_default())
        let flags = GtkIconLookupFlags(rawValue: 0)
        return gtk_icon_theme_lookup_icon(theme, "media-playback-stop-symbolic", nil, 32, 1, GTK_TEXT_DIR_LTR, flags)
    }

    private static func isPlaying(_ drawing: OpaquePointer) -> Bool {
        var value = GValue()
        g_value_init(&value, g_type_from_name("gboolean"))
        g_object_get_property(UnsafeMutablePointer<GObject>(drawing), "playing", &value)
        return g_value_get_boolean(&value) != 0
    }

    private static func gwiIsTexture(_ object: OpaquePointer) -> Bool {
        let instance = UnsafeMutableRawPointer(object).assumingMemoryBound(to: GTypeInstance.self)
        return g_type_check_instance_is_a(instance, gdk_texture_get_type()) != 0
    }

    private static func makeImage(_ color: UInt32) -> WebImage {
        let pixels = PixelBuffer(size: PixelSize(width: 4, height: 4), format: .rgb) { memory in
            for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: color >> (16 - index % 3 * 8)) }
        }
        return WebImage(pixels: pixels!)
    }
}
