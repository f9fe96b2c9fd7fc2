internal import CWebImageGtk4
internal import CWebImageGtkShims
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

extension Scenario {
    static let showing: [Scenario] = [
        Scenario("An image is fetched, decoded and shown, and the completion is called when it is in place", .drawing) {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            var isInPlace = false
            picture.setImage(with: stage.url(0x336699)) { result in
                isInPlace = picture.currentImage != nil && picture.currentImage == (try? result.get().image)
                stage.completion(result)
            }
            stage.waitForResults(1)
            expect(isInPlace, "the completion came before the image")
            expectEqual(stage.results[0].source, .loader)
            expectEqual(picture.currentImage?.color, 0x336699)
            expectEqual(picture.imageBinding.request?.url, stage.url(0x336699))
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            expectEqual(gdk_paintable_get_intrinsic_width(paintable), 64)
            expectEqual(gdk_paintable_get_intrinsic_height(paintable), 48)
            // GTK draws the image without warnings.
            expect(stage.waitForFrame())
        },

        Scenario("A memory hit is shown before setImage returns, without placeholder or main-loop iteration") {
            let stage = try Stage()
            let first = stage.addImage()
            let second = stage.addImage()
            stage.present()
            first.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            // When another widget requests the image
            second.setImage(
                with: stage.url(0x336699),
                placeholder: .icon("image-missing-symbolic"),
                completion: stage.completion
            )
            // Then the image is there
            expectEqual(stage.results.count, 2)
            expectEqual(stage.results.last?.source, .memory)
            expectEqual(second.currentImage, first.currentImage)
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("A transformed image is shown round and is a memory hit for the next widget of that size") {
            let stage = try Stage { _ in
                .ok(TestImage.solid(0x336699, size: PixelSize(width: 400, height: 400)), contentType: "image/png")
            }
            let first = stage.addImage(width: 100, height: 100)
            let second = stage.addImage(width: 100, height: 100)
            stage.present()
            let url = stage.server.url("/round")
            first.setImage(
                with: ImageRequest(url: url, transformer: .circle()),
                completion: stage.completion
            )
            stage.waitForResults(1)
            second.setImage(
                with: ImageRequest(url: url, transformer: .circle()),
                completion: stage.completion
            )
            expectEqual(stage.results.count, 2)
            expectEqual(stage.results.last?.source, .memory)
            expectEqual(second.currentImage, first.currentImage)
            expectEqual(stage.server.requests.count, 1)
            let image = try require(first.currentImage)
            expectEqual(image.pixelSize, PixelSize(width: 100, height: 100))
            expectEqual(image.pixels.withUnsafeBytes { [$0[3], $0[(50 * 100 + 50) * 4 + 3]] }, [0, 255])
        },

        Scenario("A widget without a size also shows a memory hit within the call") {
            let stage = try Stage()
            let first = stage.addImage()
            stage.present()
            first.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            let second = Picture()
            second.setImage(with: stage.url(0x336699), completion: stage.completion)
            expectEqual(stage.results.count, 2)
            expectEqual(second.currentImage, first.currentImage)
        },

        Scenario("The texture that GTK gets has the pixels of the image", .drawing) {
            let stage = try Stage { _ in
                .ok(TestImage.quarters(size: PixelSize(width: 61, height: 40)), contentType: "image/png")
            }
            let picture = stage.addImage(width: 200, height: 200)
            stage.present()
            picture.setImage(with: stage.server.url("/quarters"), completion: stage.completion)
            stage.waitForResults(1)
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            let still = try require(gdk_paintable_get_current_image(paintable))
            defer { g_object_unref(UnsafeMutableRawPointer(still)) }
            expectEqual(gdk_texture_get_width(still), 61)
            expectEqual(gdk_texture_get_height(still), 40)
            var pixels = [UInt32](repeating: 0, count: 61 * 40)
            pixels.withUnsafeMutableBytes { bytes in
                gdk_texture_download(still, bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), 61 * 4)
            }
            expectEqual(pixels[0], 0xFFFF_0000, "top left")
            expectEqual(pixels[60], 0xFF00_FF00, "top right")
            expectEqual(pixels[39 * 61], 0xFF00_00FF, "bottom left")
            expectEqual(pixels[39 * 61 + 60], 0xFFFF_FFFF, "bottom right")
        },

        Scenario(
            "Wide colours look the same with every version of GTK, and keep their gamut where GTK names it",
            .drawing
        ) {
            let size = PixelSize(width: 60, height: 40)
            let file = TestImage.png(TestImage.solid(0xC86432, size: size), with: TestProfile.displayP3)
            let stage = try Stage { _ in .ok(file, contentType: "image/png") }
            let picture = stage.addImage(width: 200, height: 200)
            stage.present()
            picture.setImage(with: stage.server.url("/wide"), completion: stage.completion)
            stage.waitForResults(1)
            let image = try require(picture.currentImage)
            let isWide = gwi_texture_has_display_p3() != 0
            expectEqual(image.content.pixels.colors.gamut, isWide ? .displayP3 : .sRGB)
            let standard = try WebImage(data: file).color
            expect(isNear(image.color, standard), "what apps read")
            expect(stage.waitForFrame())
            let drawn = try require(rendered(picture.widget)).color(0.5, 0.5)
            expect(isNear(drawn, standard), "\(String(drawn, radix: 16)) instead of \(String(standard, radix: 16))")
        },

        Scenario("Setting the same URL again neither restarts nor flickers, during the load and afterwards") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            stage.present()
            let url = stage.url(0x336699)
            let first = picture.setImage(with: url, completion: stage.completion)
            let second = picture.setImage(with: url, completion: stage.completion)
            expect(first === second, "a second load was started")
            gate.open()
            stage.waitForResults(2)
            let shown = picture.currentImage
            expect(shown != nil)
            picture.setImage(with: url, completion: stage.completion)
            expectEqual(stage.results.count, 3)
            expect(stage.results.allSatisfy { $0.errorCode == nil })
            expectEqual(picture.currentImage, shown)
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("Setting the same URL again puts the image back where the app has put something else since") {
            let stage = try Stage()
            let (picture, button) = (stage.addImage(), Button())
            stage.append(button.widget)
            stage.present()
            let url = stage.url(0x336699)
            @MainActor func setImages() -> [ImageTask] {
                [
                    picture.setImage(with: url, completion: stage.completion),
                    button.setImage(with: url, completion: stage.completion),
                    button.setBackgroundImage(with: url, completion: stage.completion),
                    picture.imageBinding.highlighted.setImage(with: url, completion: stage.completion),
                ]
            }
            let loads = setImages()
            stage.waitForResults(4)
            let paintable = gtk_picture_get_paintable(picture.widget.opaque)
            let child = try require(gtk_button_get_child(button.widget.as(GtkButton.self)))
            let childPaintable = gtk_picture_get_paintable(child.opaque)
            // When the app shows something else
            let replacements: [() -> Void] = [
                { gtk_picture_set_paintable(picture.widget.opaque, nil) },
                { gtk_picture_set_filename(picture.widget.opaque, "/nowhere.png") },
                { gtk_button_set_label(button.widget.as(GtkButton.self), "Label") },
                { gtk_picture_set_paintable(child.opaque, nil) },
            ]
            g_object_ref(UnsafeMutableRawPointer(child))
            for (index, replace) in replacements.enumerated() {
                replace()
                // And sets the same URLs again
                expect(zip(setImages(), loads).allSatisfy { $0 === $1 }, "a second load was started")
                // Then the images are back within the call
                expectEqual(stage.results.count, 8 + index * 4)
                expect(gtk_picture_get_paintable(picture.widget.opaque) == paintable, "\(index): the widget")
                expect(gtk_button_get_child(button.widget.as(GtkButton.self)) == child, "\(index): the child")
                expect(gtk_picture_get_paintable(child.opaque) == childPaintable, "\(index): the image of the child")
            }
            g_object_unref(UnsafeMutableRawPointer(child))
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0x336699)
            // With display .manual the widget is the app's.
            let manual = BindingOptions(display: .manual)
            for _ in 0..<2 {
                picture.setImage(with: url, options: manual, completion: stage.completion)
                gtk_picture_set_paintable(picture.widget.opaque, nil)
            }
            picture.setImage(with: url, options: manual, completion: stage.completion)
            expect(gtk_picture_get_paintable(picture.widget.opaque) == nil, "the image of the app was replaced")
        },

        Scenario("An image that the app has takes the place of a load, like a memory hit") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x111111: gate])
            let (picture, button, image, paintable) = (stage.addImage(), Button(), Image(), ImagePaintable())
            for widget in [button.widget, image.widget] { stage.append(widget) }
            stage.present()
            let places: [any ImageBindable] = [
                picture, picture.imageBinding.highlighted, button, button.backgroundImageBinding(for: .normal), image,
                paintable, ApplicationIcon(),
            ]
            let mine = try require(
                try? WebImage(data: TestImage.solid(0x336699, size: PixelSize(width: 20, height: 10)))
            )
            for place in places {
                place.imageIndicator = .activity
                place.imageTransition = .crossfade(duration: .seconds(600))
                place.setImage(
                    with: stage.url(0x111111),
                    placeholder: .color(ImageColor(0xFF0000)),
                    completion: stage.completion
                )
            }
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            // When the app sets its image, it is there within the call
            for place in places {
                place.setImage(mine)
                expectEqual(place.currentImage, mine, "\(place)")
                expect(place.imageBinding.request?.url == nil && place.imageBinding.task == nil, "\(place)")
                expectEqual(place.imageProgress.fraction, 1)
            }
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0x336699)
            // And the loads are over
            stage.waitForResults(places.count)
            expect(stage.results.allSatisfy { $0.errorCode == .cancelled }, "\(stage.results)")
            gate.open()
            stage.waitUntilIdle()
            for place in places { expectEqual(place.currentImage, mine, "\(place)") }
            // A URL is loaded after it, the same one as before, too, and again after a placeholder has taken its place.
            for place in places {
                for _ in 0..<2 {
                    place.setImage(with: stage.url(0x111111), completion: stage.completion)
                    expect(MainLoopPump.run(until: { place.currentImage?.color == 0x111111 }), "\(place)")
                    place.setImage(mine)
                    expectEqual(place.currentImage, mine, "\(place)")
                    place.clearImage(placeholder: .color(ImageColor(0xFF0000)))
                    expect(place.currentImage == nil, "\(place)")
                }
            }
            // A transition is the app's choice, and ends with the next image.
            picture.setImage(mine, transition: .crossfade(duration: .seconds(600)))
            expectEqual(picture.currentImage, mine)
            picture.clearImage()
            expect(picture.currentImage == nil)
        },

        Scenario("Many widgets with one URL share the transfer") {
            let stage = try Stage()
            let pictures = (0..<5).map { _ in stage.addImage() }
            stage.present()
            for picture in pictures {
                picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            }
            stage.waitForResults(5)
            expectEqual(stage.server.requests.count, 1)
            expect(pictures.allSatisfy { $0.currentImage?.color == 0x336699 })
        },

        Scenario("Images of file, data and resource URLs are shown") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            let bytes = TestImage.solid(0x123456, size: PixelSize(width: 8, height: 8))
            let file = URL(filePath: "/tmp/gwi-\(UInt64.random(in: 0 ... .max)).png")
            try bytes.write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let data = try require(URL(string: "data:image/png;base64,\(bytes.base64EncodedString())"))
            // GTK's own resources are always available.
            let resource = try require(URL(string: "resource:///org/gtk/libgtk/icons/16x16/status/image-missing.png"))
            for (index, url) in [file, data, resource].enumerated() {
                picture.setImage(with: url, completion: stage.completion)
                stage.waitForResults(index + 1)
                expect(stage.results[index].errorCode == nil, "\(stage.results[index])")
                if index < 2 { expectEqual(picture.currentImage?.color, 0x123456) }
            }
        },

        Scenario(
            "Nothing is decoded on the main thread: no fetched image, no partial image, no image from disk"
        ) {
            let coder = WitnessCoder()
            let stage = try Stage(coders: [coder])
            let pictures = (0..<10).map { _ in stage.addImage(width: 30, height: 20) }
            stage.present()
            for round in 1...2 {
                for (index, picture) in pictures.enumerated() {
                    var request = ImageRequest(url: stage.url(UInt32(index + 1), type: "jpg"), decodeSize: .original)
                    request.loading = index % 2 == 0 ? .progressive : .complete
                    picture.setImage(with: request, completion: stage.completion)
                }
                stage.waitForResults(round * 10)
                for picture in pictures { picture.clearImage() }
                stage.manager.cache.removeAllFromMemory()
            }
            expect(stage.results.allSatisfy { $0.errorCode == nil })
            expectEqual(stage.results.filter { $0.source == .disk }.count, 10, "read from disk")
            expect(coder.wasOnMainThread.all.count >= 20, "\(coder.wasOnMainThread.all.count) calls")
            expect(!coder.wasOnMainThread.all.contains(true), "decoded on the main thread")
        },

        Scenario("With display .manual the completion gets the image and the widget is not changed") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(
                with: stage.url(0x336699),
                options: BindingOptions(display: .manual),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(try stage.results[0].get().image.color, 0x336699)
            expect(picture.currentImage == nil, "it was set")
        },
    ]
}

/// Decodes with gdk-pixbuf and records the threads on which it is called.
private final class WitnessCoder: ImageDecoding {
    let wasOnMainThread = EventLog<Bool>()
    private let coder = PixbufCoder()

    func canDecode(_ format: ImageFormat) -> Bool { coder.canDecode(format) }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        wasOnMainThread.add(MainLoopDispatcher.shared.isCurrent)
        return try coder.decode(data, options: options)
    }

    func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        wasOnMainThread.add(MainLoopDispatcher.shared.isCurrent)
        return coder.makeIncrementalDecoder(for: format, options: options)
    }
}
