internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

extension Scenario {
    static let places: [Scenario] = [
        Scenario("A request shows its preview first and tries its fallback URL after a failure") {
            let gate = ServerGate()
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if request.path.hasPrefix("/00ff00") { response.faults.gate = gate }
                return response
            }
            let picture = stage.addImage()
            stage.present()
            var request = ImageRequest(url: stage.server.url("/missing"))
            request.fallbackURLs = [stage.url(0x00FF00)]
            request.previewURL = stage.url(0xFF0000, "8x6")
            picture.setImage(with: request, partial: { _ in }, completion: stage.completion)
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0xFF0000 }))
            expectEqual(picture.currentImage?.isPartial, true)
            // An equivalent request joins the load, another one does not.
            let load = picture.imageBinding.task
            expect(picture.setImage(with: request) === load)
            gate.open()
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.color, 0x00FF00)
            expectEqual(picture.imageBinding.request?.fallbackURLs.count, 1)
            request.fallbackURLs = []
            expect(picture.setImage(with: request) !== load)
        },

        Scenario("A preview stays when its image cannot be loaded, and the error placeholder replaces anything else") {
            let stage = try Stage()
            let picture = stage.addImage()
            picture.errorPlaceholder = .color(ImageColor(0x00FF00))
            stage.present()
            var request = ImageRequest(url: stage.server.url("/missing"))
            request.previewURL = stage.url(0xFF0000, "8x6")
            let gate = EventLog<Bool>()
            picture.setImage(
                with: request,
                partial: { _ in gate.add(true) },
                completion: stage.completion
            )
            stage.waitForResults(1)
            if !gate.all.isEmpty { expectEqual(picture.currentImage?.color, 0xFF0000) }
            // When the preview is in memory, it is there first.
            picture.clearImage()
            stage.manager.load(ImageRequest(url: stage.url(0xFF0000, "8x6")), completion: stage.completion)
            stage.waitForResults(2)
            request.rememberedFailure = .ignored
            picture.setImage(with: request, completion: stage.completion)
            stage.waitForResults(3)
            expectEqual(picture.currentImage?.color, 0xFF0000)
            picture.setImage(with: stage.server.url("/missing"), completion: stage.completion)
            stage.waitForResults(4)
            expect(picture.currentImage == nil)
        },

        Scenario("A GtkImage shows its image at the size of an icon", .density) {
            let stage = try Stage()
            let image = Image()
            image.pixelSize = 24
            stage.append(image.widget)
            stage.present()
            image.setImage(with: stage.url(0x336699, "240x120"), completion: stage.completion)
            stage.waitForResults(1)
            let scale = Int(gtk_widget_get_scale_factor(image.widget))
            expectEqual(image.currentImage?.pixelSize, PixelSize(width: 24 * scale, height: 12 * scale))
            expect(stage.waitForFrame())
            expectEqual(rendered(image.widget)?.color(0.5, 0.5), 0x336699)
            // The widget gets its paintable once, for the same image and for another one.
            let changes = EventLog<Int>()
            notify(image.widget, "paintable") { changes.add(1) }
            image.setImage(with: stage.url(0x445566), completion: stage.completion)
            stage.waitForResults(2)
            expect(changes.all.isEmpty, "\(changes.all.count) times")
            // An icon that the app sets stays until the next image replaces it.
            gtk_image_set_from_icon_name(image.widget.opaque, "image-missing")
            expect(gtk_image_get_paintable(image.widget.opaque) == nil)
            image.setImage(with: stage.url(0x112233), completion: stage.completion)
            stage.waitForResults(3)
            expect(gtk_image_get_paintable(image.widget.opaque) != nil)
        },

        Scenario("The two icons of an entry are independent", .density) {
            let stage = try Stage()
            let entry = Entry()
            stage.append(entry.widget)
            stage.present()
            entry.setIcon(with: stage.url(0xFF0000), at: .primary, completion: stage.completion)
            entry.setIcon(
                with: stage.url(0x0000FF),
                at: .secondary,
                completion: stage.completion
            )
            stage.waitForResults(2)
            expectEqual(entry.iconBinding(at: .primary).currentImage?.color, 0xFF0000)
            expectEqual(entry.iconBinding(at: .secondary).currentImage?.color, 0x0000FF)
            expectEqual(entry.currentImage?.pixelSize.width, 16 * Int(gtk_widget_get_scale_factor(entry.widget)))
            let native = entry.widget.as(GtkEntry.self)
            expect(gtk_entry_get_icon_paintable(native, GTK_ENTRY_ICON_PRIMARY) != nil)
            expect(gtk_entry_get_icon_paintable(native, GTK_ENTRY_ICON_SECONDARY) != nil)
            stage.waitForFrame()
            let drawn = try require(rendered(entry.widget))
            let row = (0..<drawn.pixelSize.width).map {
                drawn.color((Double($0) + 0.5) / Double(drawn.pixelSize.width), 0.5)
            }
            expect(row.prefix(row.count / 2).contains(0xFF0000), "the primary icon is not on the surface")
            expect(row.suffix(row.count / 2).contains(0x0000FF), "the secondary icon is not on the surface")
            entry.iconBinding(at: .primary).setImage(with: stage.url(0x00FF00))
            entry.iconBinding(at: .primary).cancelImageLoad()
            stage.waitUntilIdle()
            expectEqual(entry.iconBinding(at: .secondary).currentImage?.color, 0x0000FF)
        },

        Scenario(
            "A widget shows its image as its child, its paintable or its window icon, whichever it supports",
            .drawing
        ) {
            let stage = try Stage()
            let widgets = [
                gtk_frame_new(nil)!, gtk_list_box_row_new()!, gtk_check_button_new()!, gtk_menu_button_new()!,
                gtk_toggle_button_new()!, gtk_revealer_new()!,
            ]
            let list = gtk_list_box_new()!
            stage.append(list)
            for (index, widget) in widgets.enumerated() {
                gtk_widget_set_size_request(widget, 60, 40)
                if index == 1 { gtk_list_box_append(list.opaque, widget) } else { stage.append(widget) }
            }
            gtk_revealer_set_reveal_child(widgets[5].opaque, 1)
            stage.present()
            for widget in widgets {
                WidgetPointer(widget).setImage(
                    with: stage.url(0x336699),
                    completion: stage.completion
                )
            }
            WidgetPointer(stage.window).setImage(
                with: stage.url(0x336699),
                completion: stage.completion
            )
            stage.waitForResults(7)
            expect(stage.results.allSatisfy { $0.errorCode == nil }, "\(stage.results)")
            for widget in widgets { expectEqual(WidgetPointer(widget).currentImage?.color, 0x336699) }
            expect(stage.waitForFrame())
            expectEqual(rendered(widgets[0])?.color(0.5, 0.5), 0x336699)
            // The icon survives hiding and showing the window. GTK's Broadway, which has no icons, may never
            // draw such a window again on a busy machine.
            guard broadway == nil else { return }
            expectEqual(try iconColor(of: stage.window), 0x336699)
            gtk_widget_set_visible(stage.window, 0)
            stage.present()
            expectEqual(WidgetPointer(stage.window).currentImage?.color, 0x336699)
            expectEqual(try iconColor(of: stage.window), 0x336699)
            WidgetPointer(stage.window).clearImage()
            expectEqual(try iconColor(of: stage.window), nil)
        },

        Scenario("A window keeps the icon of its name until it has an image, and gets it back", .drawing) {
            let stage = try Stage()
            gtk_window_set_icon_name(stage.window.as(GtkWindow.self), "image-missing")
            stage.present()
            guard broadway == nil else { return }
            let named = try iconColor(of: stage.window)
            expect(named != nil, "the theme has no such icon")
            let window = WidgetPointer(stage.window)
            window.setImage(with: stage.server.url("/no"), completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(try iconColor(of: stage.window), named)
            window.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(try iconColor(of: stage.window), 0x336699)
            // That of the app takes its place
            ApplicationIcon().setImage(with: stage.url(0xAA0000), completion: stage.completion)
            stage.waitForResults(3)
            window.setImage(with: stage.url(0x00AA00), completion: stage.completion)
            stage.waitForResults(4)
            window.clearImage()
            expectEqual(try iconColor(of: stage.window), 0xAA0000)
            ApplicationIcon().clearImage()
            expectEqual(try iconColor(of: stage.window), named)
            expectEqual(
                gtk_window_get_icon_name(stage.window.as(GtkWindow.self)).map { String(cString: $0) },
                "image-missing"
            )
        },

        Scenario("The application icon applies to all windows, including later ones", .drawing) {
            let stage = try Stage()
            stage.present()
            var image: WebImage?
            ApplicationIcon().setImage(with: stage.url(0x336699, "256x256")) { result in
                image = try? result.get().image
            }
            expect(MainLoopPump.run(until: { image != nil }))
            expectEqual(image?.pixelSize, PixelSize(width: 128, height: 128))
            let later = gtk_window_new()!
            gtk_window_present(later.as(GtkWindow.self))
            MainLoopPump.runPending()
            if broadway == nil {
                for window in [stage.window, later] { expectEqual(try iconColor(of: window), 0x336699) }
            }
            ApplicationIcon().clearImage()
            expect(ApplicationIcon().currentImage == nil)
            if broadway == nil {
                for window in [stage.window, later] { expectEqual(try iconColor(of: window), nil) }
            }
            gtk_window_destroy(later.as(GtkWindow.self))
        },

        Scenario("A paintable is bound without a widget, drawn anywhere, and cancels its load when it is released") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x445566: gate])
            var paintable: ImagePaintable? = ImagePaintable()
            let pictures = (0..<2).map { _ in
                let native = paintable?.nativePaintable
                let picture = gtk_picture_new_for_paintable(native)!
                gtk_widget_set_size_request(picture, 40, 30)
                stage.append(picture)
                return picture
            }
            stage.present()
            paintable?.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            expect(stage.waitForFrame())
            for picture in pictures { expectEqual(rendered(picture)?.color(0.5, 0.5), 0x336699) }
            paintable?.setImage(with: stage.url(0x445566), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            for picture in pictures { gtk_picture_set_paintable(picture.opaque, nil) }
            paintable = nil
            stage.waitForResults(2)
            expectEqual(stage.results.last?.errorCode, .cancelled)
            gate.open()
            stage.waitUntilIdle()
        },

        Scenario("A load can be detached from one widget and attached to another without being cancelled") {
            let (gate, other) = (ServerGate(), ServerGate())
            let stage = try Stage(gates: [0x336699: gate, 1: other])
            let (first, second) = (stage.addImage(), stage.addImage())
            stage.present()
            let load = first.setImage(
                with: stage.url(0x336699),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            expect(first.images.detach(.image) === load)
            expect(first.images.task(for: .image) == nil && first.imageBinding.request?.url == nil)
            second.images.attach(load, for: "more")
            gate.open()
            stage.waitForResults(1)
            expectEqual(stage.results[0].errorCode, nil)
            expect(first.currentImage == nil && second.currentImage == nil, "it was shown")
            // A load that is attached to a widget ends with the next one.
            let third = first.setImage(with: stage.url(1), completion: stage.completion)
            _ = first.images.detach(.image)
            second.images.attach(third, for: "more")
            second.images.cancel("more")
            stage.waitForResults(2)
            expectEqual(stage.results[1].errorCode, .cancelled)
            // A widget with only an attached load can still show an image.
            let fourth = stage.addImage()
            stage.waitForFrame()
            let hung = first.setImage(with: stage.url(1), completion: stage.completion)
            _ = first.images.detach(.image)
            fourth.images.attach(hung, for: .image)
            // Only another image ends the attached load, not a look at the widget or a change of its settings.
            fourth.imageIndicator = .activity
            expectEqual(fourth.imageProgress.fraction, 0)
            fourth.errorPlaceholder = .icon("image-missing-symbolic")
            expect(!hung.isCancelled && fourth.images.task(for: .image) === hung)
            fourth.setImage(with: stage.url(0x445566), completion: stage.completion)
            stage.waitForResults(4)
            expectEqual(stage.results.suffix(2).map(\.errorCode).contains(.cancelled), true)
            expectEqual(fourth.currentImage?.color, 0x445566)
            other.open()
        },

        Scenario("With previousLoad .finishes the previous load continues and no longer updates the widget") {
            let gate = ServerGate()
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if request.path.hasPrefix("/0000ff") { response.faults.gate = gate }
                return response
            }
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            picture.setImage(
                with: stage.url(0x00FF00),
                options: BindingOptions(previousLoad: .finishes),
                completion: stage.completion
            )
            stage.waitForResults(1)
            gate.open()
            stage.waitForResults(2)
            expectEqual(stage.results.map(\.errorCode), [nil, nil])
            expectEqual(try stage.results[1].get().image.color, 0x0000FF)
            expectEqual(picture.currentImage?.color, 0x00FF00)
        },

        Scenario("A load that never started completes when a load with previousLoad .finishes replaces it") {
            let stage = try Stage()
            let picture = stage.addImage()
            // The widget is not mapped, so the first load waits.
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            picture.setImage(
                with: stage.url(0x00FF00),
                options: BindingOptions(previousLoad: .finishes),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(stage.results[0].errorCode, .cancelled)
            stage.present()
            stage.waitForResults(2)
            expectEqual(picture.currentImage?.color, 0x00FF00)
        },

        Scenario("With start .onlyWhileMapped a load pauses while the widget is unmapped, and so does its completion") {
            let (gate, other) = (ServerGate(), ServerGate())
            let stage = try Stage(gates: [0x336699: gate, 0x445566: other])
            let picture = stage.addImage()
            stage.present()
            picture.setImage(
                with: stage.url(0x336699),
                options: BindingOptions(start: .onlyWhileMapped),
                completion: stage.completion
            )
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            gtk_widget_set_visible(picture.widget, 0)
            stage.waitUntilIdle()
            expect(stage.results.isEmpty, "\(stage.results)")
            gtk_widget_set_visible(picture.widget, 1)
            gate.open()
            stage.waitForResults(1)
            expectEqual(stage.results.map(\.errorCode), [nil])
            expectEqual(picture.currentImage?.color, 0x336699)
            // A paused load can be cancelled like any other.
            picture.setImage(
                with: stage.url(0x445566),
                options: BindingOptions(start: .onlyWhileMapped),
                completion: stage.completion
            )
            gtk_widget_set_visible(picture.widget, 0)
            stage.waitUntilIdle()
            picture.cancelImageLoad()
            stage.waitForResults(2)
            expectEqual(stage.results[1].errorCode, .cancelled)
            other.open()
        },
    ]
}
