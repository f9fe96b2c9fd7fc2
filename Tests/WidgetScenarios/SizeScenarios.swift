internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

extension Scenario {
    static let sizes: [Scenario] = [
        Scenario("The renderer that was asked for draws an image, decoded at the scale of the display") {
            let asked = getenv("GSK_RENDERER").map { String(cString: $0) }
            if asked == "vulkan", gtk_get_minor_version() < 16 {
                throw Skipped(reason: "GTK draws with Vulkan since 4.16")
            }
            let stage = try Stage { _ in
                .ok(TestImage.quarters(size: PixelSize(width: 800, height: 600)), contentType: "image/png")
            }
            let picture = stage.addImage(width: 200, height: 150)
            stage.present()
            picture.setImage(with: stage.server.url("/quarters"), completion: stage.completion)
            stage.waitForResults(1)
            let scale = Int(gtk_widget_get_scale_factor(picture.widget))
            expectEqual(picture.currentImage?.pixelSize.width, Int(gtk_widget_get_width(picture.widget)) * scale)
            expect(stage.waitForFrame())
            let drawn = try require(rendered(picture.widget))
            let corners = [drawn.color(0.1, 0.1), drawn.color(0.9, 0.1), drawn.color(0.1, 0.9), drawn.color(0.9, 0.9)]
            expectEqual(corners, [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFFFF])
            // Then GTK has not fallen back to another renderer
            let renderer = try require(gtk_native_get_renderer(gtk_widget_get_native(picture.widget)))
            let instance = UnsafeMutableRawPointer(renderer).assumingMemoryBound(to: GTypeInstance.self)
            let name = String(cString: g_type_name_from_instance(instance))
            let names = [
                "opengl": ["GskGLRenderer", "GskNglRenderer"], "cairo": ["GskCairoRenderer"],
                "vulkan": ["GskVulkanRenderer"],
            ]
            if let asked, let expected = names[asked] { expect(expected.contains(name), name) }
        },

        Scenario("An image is decoded at the size of the widget and keeps its own size for the layout") {
            let stage = try Stage()
            let picture = stage.addImage(width: 100, height: 80)
            gtk_widget_set_overflow(picture.widget, GTK_OVERFLOW_HIDDEN)
            gtk_picture_set_can_shrink(picture.widget.opaque, 1)
            constrain(picture, width: 100, height: 80, in: stage)
            stage.present()
            picture.setImage(
                with: stage.url(0x336699, "800x600", type: "jpg"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            let image = try stage.results[0].get().image
            expectEqual(image.pixelSize, PixelSize(width: 100, height: 75))
            expectEqual(image.naturalSize, PixelSize(width: 800, height: 600))
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            expectEqual(gdk_paintable_get_intrinsic_width(paintable), 800)
        },

        Scenario("An image is decoded for a place of which only one side is known before it arrives", .drawing) {
            // Given buttons of a fixed size, the child of one of which is narrow until it has an image, and GtkPictures of which the
            // window or a request fixes the width
            let stage = try Stage()
            let (button, menu, picture) = (Button(), MenuButton(), Picture())
            let (filling, requested) = (Picture(), Picture())
            gtk_picture_set_content_fit(filling.widget.opaque, GTK_CONTENT_FIT_FILL)
            gtk_widget_set_size_request(requested.widget, 300, -1)
            gtk_widget_set_halign(requested.widget, GTK_ALIGN_CENTER)
            for widget in [button.widget, menu.widget] {
                gtk_widget_set_size_request(widget, 120, 90)
                gtk_widget_set_halign(widget, GTK_ALIGN_CENTER)
            }
            let widgets = [button.widget, menu.widget, picture.widget, filling.widget, requested.widget]
            for widget in widgets { stage.append(widget) }
            gtk_widget_set_size_request(stage.window, 400, -1)
            stage.present()
            // When they get images
            let urls = (0..<5).map { stage.url(0x336699 + $0, "800x600", type: "jpg") }
            button.setImage(with: urls[0], completion: stage.completion)
            menu.setImage(with: urls[1], completion: stage.completion)
            picture.setImage(with: urls[2], completion: stage.completion)
            filling.setImage(with: urls[3], completion: stage.completion)
            requested.setImage(with: urls[4], completion: stage.completion)
            stage.waitForResults(5)
            // Then none is shown small first
            let sizes = try stage.results.map { try $0.get().image.pixelSize }
            expect(sizes.allSatisfy { $0.width > 40 && $0.height > 40 }, "\(sizes)")
        },

        Scenario("A vector image is drawn at the size of its widget, also when that grows, from one transfer", .drawing)
        {
            // Given an SVG of 24 pixels, whose left half is red
            let svg = """
                <svg xmlns="http://www.w3.org/2000/svg" width="24" height="24">\
                <rect width="24" height="24" fill="#00f"/><rect width="12" height="24" fill="#f00"/></svg>
                """
            let stage = try Stage(
                { _ in .ok(Data(svg.utf8), contentType: "image/svg+xml") },
                formats: AllowedFormats.web.union([.svg])
            )
            let pictures = [stage.addImage(width: 100, height: 100), stage.addImage(width: 100, height: 100)]
            stage.present()
            let scale = Int(gtk_widget_get_scale_factor(stage.window))
            let requests = [
                ImageRequest(url: stage.server.url("/a.svg")),
                ImageRequest(url: stage.server.url("/a.svg"), transformer: .circle()),
            ]
            for (picture, request) in zip(pictures, requests) {
                picture.setImage(with: request, completion: stage.completion)
            }
            stage.waitForResults(2)
            for side in [100, 160] {
                // When the widgets grow
                for picture in pictures { gtk_widget_set_size_request(picture.widget, Int32(side), Int32(side)) }
                let size = PixelSize(width: side * scale, height: side * scale)
                // Then the images are drawn anew
                let isDrawn = MainLoopPump.run(until: { pictures.allSatisfy { $0.currentImage?.pixelSize == size } })
                expect(isDrawn, "\(pictures.compactMap { $0.currentImage?.pixelSize }) at \(side)")
                expect(stage.waitForFrame())
                let drawn = try require(rendered(pictures[0].widget))
                let middle = 0.5 * Double(drawn.pixelSize.width)
                // The edge is sharp.
                expectEqual(drawn.color((middle - 1.5) / Double(drawn.pixelSize.width), 0.5), 0xFF0000)
                expectEqual(drawn.color((middle + 1.5) / Double(drawn.pixelSize.width), 0.5), 0x0000FF)
                let round = try require(rendered(pictures[1].widget))
                expect(round.color(0.02, 0.02) != 0xFF0000 && round.color(0.25, 0.5) == 0xFF0000, "no circle")
            }
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("An image that covers its widget is decoded large enough to cover it") {
            let stage = try Stage()
            let picture = stage.addImage()
            picture.contentFit = .cover
            constrain(picture, width: 100, height: 80, in: stage)
            stage.present()
            picture.setImage(with: stage.url(0x336699, "800x600"), completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(try stage.results[0].get().image.pixelSize, PixelSize(width: 107, height: 80))
        },

        Scenario("A transformer of the request processor gives the pixels of one in the call, at every scale", .density)
        {
            // Given two managers, of which one rounds the corners of all images
            let plain = try Stage()
            let rounding = try Stage(Stage.answer) { configuration in
                configuration.requestProcessor = { request in
                    var request = request
                    request.transformer = .rounded(12)
                    return request
                }
            }
            var images: [WebImage] = []
            for (stage, transformer) in [(plain, ImageTransformer.rounded(12)), (rounding, nil)] {
                let picture = stage.addImage(width: 60, height: 60)
                constrain(picture, width: 60, height: 60, in: stage)
                stage.present()
                // When the same image is shown at 1.5 times the size first
                let request = ImageRequest(
                    url: stage.url(0x336699, "400x400"),
                    decodeSize: .contain(PixelSize(width: 90, height: 90)),
                    transformer: transformer
                )
                stage.manager.load(request, completion: stage.completion)
                stage.waitForResults(1)
                picture.setImage(
                    with: ImageRequest(url: stage.url(0x336699, "400x400"), transformer: transformer),
                    completion: stage.completion
                )
                stage.waitForResults(2)
                images.append(try require(picture.currentImage))
            }
            // Then both have the pixels of their widget
            expectEqual(images[0].pixelSize, images[1].pixelSize)
            expectEqual(images[0].difference(from: images[1]), 0)
        },

        Scenario("A request processor is asked about the size of the widget, even if it chose that size before") {
            let asked = EventLog<DecodeSize?>()
            let size = DecodeSize.contain(PixelSize(width: 60, height: 60))
            let stage = try Stage(Stage.answer) { configuration in
                configuration.requestProcessor = { request in
                    asked.add(request.decodeSize)
                    var request = request
                    request.decodeSize = size
                    return request
                }
            }
            stage.present()
            // A widget is mapped in its window before it has a size.
            let picture = stage.addImage()
            constrain(picture, width: 60, height: 60, in: stage)
            picture.setImage(with: stage.url(0x336699, "400x400"), completion: stage.completion)
            expect(asked.all.last == .original, "the widget has a size already")
            stage.waitForResults(1)
            expect(asked.all.last == size, "\(asked.all)")
        },

        Scenario("A prefetched image with a transformer is a memory hit in a widget of its size") {
            let stage = try Stage()
            let picture = stage.addImage()
            constrain(picture, width: 60, height: 60, in: stage)
            stage.present()
            let url = stage.url(0x336699, "400x400")
            let request = ImageRequest(
                url: url,
                decodeSize: .contain(PixelSize(width: 60, height: 60)),
                transformer: .rounded(12)
            )
            var isPrefetched = false
            ImagePrefetcher(manager: stage.manager).prefetch([request]) { _ in isPrefetched = true }
            expect(MainLoopPump.run(until: { isPrefetched }))
            picture.setImage(
                with: ImageRequest(url: url, transformer: .rounded(12)),
                completion: stage.completion
            )
            expectEqual(stage.results.first?.source, .memory)
        },

        Scenario("A fixed size holds whatever the image and the parent are, and the image is decoded for it", .density)
        {
            let stage = try Stage()
            let (picture, button) = (Picture(), Button())
            giveASize(button: button, picture: picture)
            gtk_widget_set_vexpand(picture.widget, 1)
            let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)!
            gtk_box_append(row.as(GtkBox.self), button.widget)
            for widget in [picture.widget, row] { stage.append(widget) }
            stage.present()
            let url = stage.url(0x336699, "800x600")
            picture.setImage(with: url, completion: stage.completion)
            button.setImage(with: url, completion: stage.completion)
            stage.waitForResults(2)
            stage.waitForFrame()
            func size(_ widget: UnsafeMutablePointer<GtkWidget>) -> PixelSize {
                PixelSize(width: Int(gtk_widget_get_width(widget)), height: Int(gtk_widget_get_height(widget)))
            }
            let child = try require(gtk_button_get_child(button.widget.as(GtkButton.self)))
            expectEqual(size(picture.widget), PixelSize(width: 160, height: 120))
            expectEqual(size(child), PixelSize(width: 48, height: 48))
            let scale = Int(gtk_widget_get_scale_factor(picture.widget))
            expectEqual(picture.currentImage?.pixelSize, PixelSize(width: 160 * scale, height: 120 * scale))
            expectEqual(button.currentImage?.pixelSize, PixelSize(width: 48 * scale, height: 36 * scale))
            // In a column, a button that fills it shows the image at the same size.
            gtk_box_remove(row.as(GtkBox.self), button.widget)
            stage.append(button.widget)
            expect(MainLoopPump.run(until: { gtk_widget_get_width(button.widget) > 300 }))
            expectEqual(size(child), PixelSize(width: 48, height: 48))
            // A change applies to the image on display.
            button.imageBinding.setFixedSize(width: 24, height: 32)
            expect(MainLoopPump.run(until: { size(child) == PixelSize(width: 24, height: 32) }))
            button.imageBinding.setFixedSize(width: -1, height: -1)
            expect(MainLoopPump.run(until: { gtk_widget_get_width(child) > 300 }))
            // A GtkImage is square.
            let icon = GtkWebImageWidgets.Image()
            icon.imageBinding.setFixedSize(width: 64, height: 48)
            expectEqual(icon.pixelSize, 48)
            icon.imageBinding.setFixedSize(width: -1, height: -1)
            expectEqual(icon.pixelSize, -1)
        },

        Scenario("A step of the app that makes new pixels lets the image grow with its widget", .drawing) {
            let stage = try Stage()
            let picture = stage.addImage()
            constrain(picture, width: 60, height: 60, in: stage)
            stage.present()
            let negative = negative
            picture.setImage(
                with: ImageRequest(url: stage.url(0x336699, "400x400"), transformer: negative),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.naturalSize, PixelSize(width: 400, height: 400))
            constrain(picture, width: 200, height: 200, in: stage)
            let size = PixelSize(width: 200, height: 200)
            expect(MainLoopPump.run(until: { picture.currentImage?.pixelSize == size }))
            expectEqual(picture.currentImage?.color, 0xCC9966)
        },

        Scenario("With the original size every pixel is decoded") {
            let stage = try Stage()
            let picture = stage.addImage()
            constrain(picture, width: 100, height: 80, in: stage)
            stage.present()
            picture.setImage(
                with: ImageRequest(url: stage.url(0x336699, "800x600"), decodeSize: .original),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(try stage.results[0].get().image.pixelSize, PixelSize(width: 800, height: 600))
        },

        Scenario("A widget without a size takes that of its image") {
            let stage = try Stage()
            let picture = stage.addImage(width: -1, height: -1)
            stage.present()
            picture.setImage(with: stage.url(0x336699, "123x45"), completion: stage.completion)
            stage.waitForResults(1)
            expect(stage.waitForFrame())
            expectEqual(gtk_widget_get_width(picture.widget), 123)
            expectEqual(gtk_widget_get_height(picture.widget), 45)
        },

        Scenario("A growing widget gets a larger image and keeps the current one until then", .drawing) {
            let stage = try Stage()
            let picture = stage.addImage()
            constrain(picture, width: 100, height: 80, in: stage)
            stage.present()
            picture.setImage(with: stage.url(0x336699, "800x600"), completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.pixelSize.width, 100)
            constrain(picture, width: 300, height: 240, in: stage)
            let isGrown = MainLoopPump.run(until: {
                expect(picture.currentImage != nil, "cleared in between")
                gtk_widget_queue_draw(stage.window)
                return picture.currentImage?.pixelSize.width == 300
            })
            expect(isGrown, "\(String(describing: picture.currentImage?.pixelSize))")
            expectEqual(stage.results.count, 1)
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("A larger image that fails for a reason that may pass is requested again when the widget is shown") {
            let log = EventLog<Int>()
            let stage = try Stage { request in
                log.add(1)
                return log.all.count == 2 ? .status(503) : Stage.answer(request)
            }
            let picture = stage.addImage()
            constrain(picture, width: 100, height: 80, in: stage)
            stage.present()
            var request = ImageRequest(url: stage.url(0x336699, "800x600"))
            request.cacheAccess = .writingMemoryOnly
            picture.setImage(with: request, completion: stage.completion)
            stage.waitForResults(1)
            constrain(picture, width: 300, height: 240, in: stage)
            @MainActor func isRefined(_ requestCount: Int) -> Bool {
                MainLoopPump.run(until: {
                    gtk_widget_queue_draw(stage.window)
                    return log.all.count == requestCount && stage.isIdle
                })
            }
            expect(isRefined(2))
            expectEqual(picture.currentImage?.pixelSize.width, 100)
            gtk_widget_set_visible(picture.widget, 0)
            expect(stage.waitForFrame())
            gtk_widget_set_visible(picture.widget, 1)
            expect(isRefined(3))
            expect(MainLoopPump.run(until: { picture.currentImage?.pixelSize.width == 300 }))
        },

        Scenario("A stretched image gets more pixels also where its widget grows in one direction only", .drawing) {
            let stage = try Stage()
            let picture = Picture()
            gtk_picture_set_content_fit(picture.widget.opaque, GTK_CONTENT_FIT_FILL)
            gtk_widget_set_halign(picture.widget, GTK_ALIGN_CENTER)
            gtk_widget_set_valign(picture.widget, GTK_ALIGN_CENTER)
            stage.append(picture.widget)
            picture.imageBinding.setFixedSize(width: 200, height: 20)
            stage.present()
            picture.setImage(with: stage.url(0x336699, "800x800"), completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.pixelSize, PixelSize(width: 200, height: 20))
            picture.imageBinding.setFixedSize(width: 200, height: 200)
            expect(
                MainLoopPump.run(until: {
                    gtk_widget_queue_draw(stage.window)
                    return picture.currentImage?.pixelSize == PixelSize(width: 200, height: 200)
                })
            )
        },

        Scenario("An icon that a style sheet makes larger is decoded at that size", .drawing) {
            let stage = try Stage()
            let image = Image()
            stage.addStyle("image { -gtk-icon-size: 96px; }")
            stage.append(image.widget)
            stage.present()
            image.setImage(with: stage.url(0x336699, "400x400"), completion: stage.completion)
            stage.waitForResults(1)
            expect(
                MainLoopPump.run(until: {
                    gtk_widget_queue_draw(stage.window)
                    return image.currentImage?.pixelSize == PixelSize(width: 96, height: 96)
                })
            )
        },

        Scenario("A larger image that fails is requested once, not with every frame") {
            let log = EventLog<Int>()
            let stage = try Stage { request in
                log.add(1)
                return log.all.count == 1 ? Stage.answer(request) : .notFound
            }
            let picture = stage.addImage()
            constrain(picture, width: 100, height: 80, in: stage)
            stage.present()
            var request = ImageRequest(url: stage.url(0x336699, "800x600"))
            request.cacheAccess = .writingMemoryOnly
            picture.setImage(
                with: request,
                completion: stage.completion
            )
            stage.waitForResults(1)
            constrain(picture, width: 300, height: 240, in: stage)
            expect(
                MainLoopPump.run(until: {
                    gtk_widget_queue_draw(stage.window)
                    return log.all.count == 2 && stage.isIdle
                })
            )
            for _ in 0..<10 { expect(stage.waitForFrame()) }
            stage.waitUntilIdle()
            expectEqual(log.all.count, 2)
            expectEqual(picture.currentImage?.pixelSize.width, 100)
        },

        Scenario("An image with @2x in its name takes half as many application pixels") {
            let stage = try Stage { _ in
                .ok(TestImage.solid(1, size: PixelSize(width: 64, height: 48)), contentType: "image/png")
            }
            let picture = stage.addImage(width: -1, height: -1)
            stage.present()
            picture.setImage(with: stage.server.url("/a@2x.png"), completion: stage.completion)
            stage.waitForResults(1)
            expect(stage.waitForFrame())
            expectEqual(gtk_widget_get_width(picture.widget), 32)
            expectEqual(gtk_widget_get_height(picture.widget), 24)
        },

        Scenario("Replacing an image by one of the same size triggers no layout") {
            let stage = try Stage()
            let picture = stage.addImage(width: -1, height: -1)
            stage.present()
            picture.setImage(with: stage.url(0x111111), completion: stage.completion)
            stage.waitForResults(1)
            expect(stage.waitForFrame())
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            let log = EventLog<Int>()
            let callback: @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void = { _, log in
                Unmanaged<EventLog<Int>>.fromOpaque(log).takeUnretainedValue().add(1)
            }
            g_signal_connect_data(
                UnsafeMutableRawPointer(paintable),
                "invalidate-size",
                unsafeBitCast(callback, to: GCallback.self),
                Unmanaged.passRetained(log).toOpaque(),
                nil,
                GConnectFlags(rawValue: 0)
            )
            for color in [0x222222, 0x333333] as [UInt32] {
                picture.setImage(
                    with: stage.url(color),
                    options: BindingOptions(whileLoading: .placeholderOrCurrentImage),
                    completion: stage.completion
                )
            }
            stage.waitForResults(3)
            expectEqual(picture.currentImage?.color, 0x333333)
            expectEqual(log.all.count, 0)
        },
    ]

    /// Gives a widget an exact size through a scrolled window, which ignores its size request.
    @MainActor
    static func constrain(_ picture: Picture, width: Int32, height: Int32, in stage: Stage) {
        let parent = gtk_widget_get_parent(picture.widget)
        if parent == stage.box {
            stage.remove(picture.widget)
            let fixed = gtk_scrolled_window_new()!
            gtk_scrolled_window_set_policy(fixed.opaque, GTK_POLICY_NEVER, GTK_POLICY_NEVER)
            gtk_widget_set_size_request(picture.widget, -1, -1)
            gtk_widget_set_halign(picture.widget, GTK_ALIGN_FILL)
            gtk_widget_set_valign(picture.widget, GTK_ALIGN_FILL)
            gtk_scrolled_window_set_child(fixed.opaque, picture.widget)
            gtk_widget_set_halign(fixed, GTK_ALIGN_CENTER)
            gtk_widget_set_valign(fixed, GTK_ALIGN_CENTER)
            stage.append(fixed)
        }
        let fixed = gtk_widget_get_ancestor(picture.widget, gtk_scrolled_window_get_type())!
        gtk_widget_set_size_request(fixed, width, height)
    }
}
