internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageBuilder
import WebImageLinux
import WebImageTesting

extension Scenario {
    static let builder: [Scenario] = [
        Scenario(
            "A WebPicture of a .ui file loads once with all of its properties, and tells its signals and notifications"
        ) {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            // Given a widget whose properties come in any order
            let ui = try BuilderStage(
                stage,
                """
                <property name="blur-hash">\(blurHash(0x00FF00))</property>
                <property name="uri">\(stage.url(0x336699, "400x400"))</property>
                <property name="content-fit">cover</property>
                <property name="transition">crossfade</property>
                <property name="retry-on-click">True</property>
                <property name="placeholder-icon-name">image-x-generic-symbolic</property>
                <property name="alternative-text">A lighthouse</property>
                """
            )
            expectEqual(ui.state, "loading")
            // When it is on screen
            stage.present()
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            // Then the hash is shown, which resembles the image more than an icon does
            stage.waitForFrame()
            expectEqual(rendered(ui.picture.widget)?.color(0.5, 0.5), 0x00FF00)
            expectEqual(ui.events.filter { $0 == "loaded" }, [])
            gate.open()
            ui.wait(for: "loaded")
            expectEqual(ui.state, "shown")
            expectEqual(ui.picture.widget.decimal("progress"), 1)
            expectEqual(ui.picture.widget.text("error-message"), nil)
            expectEqual(ui.picture.currentImage?.color, 0x336699)
            expectEqual(stage.server.requests.count, 1)
            // And it has the size of the widget, in which it covers what it is cut off to
            expectEqual(ui.picture.currentImage?.pixelSize, PixelSize(width: 100, height: 100))
            expect(ui.picture.imageTransition != nil && ui.picture.imageBinding.retriesOnClick)
            expect(gtk_test_accessible_has_property(ui.picture.native(), GTK_ACCESSIBLE_PROPERTY_LABEL) != 0)
            for (name, text) in [("alternative-text", "A lighthouse"), ("blur-hash", blurHash(0x00FF00))] {
                expectEqual(ui.picture.widget.text(name), text, name)
            }
            expectEqual(ui.picture.widget.number("transition"), 1)
            expectEqual(ui.picture.widget.number("retry-on-click"), 1)
            expectEqual(ui.events.filter { $0 == "notify::state" }.count, 2, "loading and shown")
            expect(ui.events.contains("notify::progress") && !ui.events.contains("notify::error-message"))
        },

        Scenario("A handler in a .ui file hears of an image that was in memory, which is shown within the call") {
            let stage = try Stage()
            let url = stage.url(0x336699)
            stage.manager.cache.store(solid(0x336699, width: 100, height: 80), for: ImageRequest(url: url), in: .memory)
            WebPicture.register()
            let heard: @convention(c) (gpointer) -> Void = {
                gtk_widget_set_name($0.assumingMemoryBound(to: GtkWidget.self), "heard")
            }
            let builder = gtk_builder_new()!
            let scope = gtk_builder_cscope_new()!
            gtk_builder_cscope_add_callback_symbol(
                UnsafeMutableRawPointer(scope).assumingMemoryBound(to: GtkBuilderCScope.self),
                "on_loaded",
                unsafeBitCast(heard, to: GCallback.self)
            )
            gtk_builder_set_scope(builder, scope)
            let property = #"<property name="uri">\#(url)</property>"#
            let file =
                #"<interface><object class="WebPicture" id="picture">\#(property)<signal name="loaded" handler="on_loaded"/></object></interface>"#
            expect(gtk_builder_add_from_string(builder, file, -1, nil) != 0)
            let widget = try require(gtk_builder_get_object(builder, "picture")).as(GtkWidget.self)
            expectEqual(WidgetPointer(widget).currentImage?.color, 0x336699)
            expect(MainLoopPump.run(until: { String(cString: gtk_widget_get_name(widget)) == "heard" }))
        },

        Scenario("Another uri replaces the image and cancels its load, and no uri clears the widget") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x111111: gate])
            let ui = try BuilderStage(stage, "")
            stage.present()
            expectEqual(ui.state, "idle")
            ui.uri = stage.url(0x111111).absoluteString
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            // When another one is set while the server holds the first
            let first = try require(ui.picture.imageBinding.task)
            ui.uri = stage.url(0x336699).absoluteString
            expect(first.isCancelled)
            ui.wait(for: "loaded")
            gate.open()
            stage.waitUntilIdle()
            expectEqual(ui.picture.currentImage?.color, 0x336699)
            expectEqual(ui.events.filter { $0 == "loaded" }.count, 1)
            // Then the same one changes nothing
            let (events, requests) = (ui.events, stage.server.requests.count)
            ui.uri = stage.url(0x336699).absoluteString
            MainLoopPump.runPending()
            expectEqual(ui.events, events)
            expectEqual(stage.server.requests.count, requests)
            // And none clears it
            ui.uri = nil
            expect(ui.picture.currentImage == nil)
            expectEqual(ui.state, "idle")
            // An image in memory is there before the call returns.
            ui.uri = stage.url(0x336699).absoluteString
            expectEqual(ui.picture.currentImage?.color, 0x336699)
            ui.wait(for: "loaded", 2)
        },

        Scenario("A handler of a notification may set another uri, and only the image of that one is signalled") {
            let stage = try Stage()
            let (first, second) = (stage.url(0x111111).absoluteString, stage.url(0x336699).absoluteString)
            let ui = try BuilderStage(stage, #"<property name="uri">\#(first)</property>"#)
            ui.picture.nativeWidgetPointer.connect("notify::state") { [weak ui] in
                if let ui, ui.uri == first, ui.state == "shown" { ui.uri = second }
            }
            stage.present()
            ui.wait(for: "loaded")
            expectEqual(ui.picture.currentImage?.color, 0x336699)
            stage.waitUntilIdle()
            MainLoopPump.runPending()
            expectEqual(ui.events.filter { $0 == "loaded" || $0 == "notify::uri" }, ["notify::uri", "loaded"])
        },

        Scenario("A placeholder that is set during the load replaces the one on display, and the load goes on") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let ui = try BuilderStage(stage, #"<property name="blur-hash">\#(blurHash(0x00FF00))</property>"#)
            stage.present()
            expectEqual(rendered(ui.picture.widget)?.color(0.5, 0.5), 0x00FF00, "without a uri")
            ui.uri = stage.url(0x336699).absoluteString
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            ui.picture.widget.setText("blur-hash", blurHash(0x0000FF))
            stage.waitForFrame()
            expectEqual(rendered(ui.picture.widget)?.color(0.5, 0.5), 0x0000FF)
            gate.open()
            ui.wait(for: "loaded")
            // When the image is there
            ui.picture.widget.setText("blur-hash", blurHash(0x00FF00))
            stage.waitForFrame()
            // Then no placeholder takes its place
            expectEqual(rendered(ui.picture.widget)?.color(0.5, 0.5), 0x336699)
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("The file of srcset that fits the widget is loaded") {
            let stage = try Stage()
            let srcset = "/aa0000/50x40.png 50w, 00aa00/120x96.png 120w, 0000aa/900x720.png 900w"
            let ui = try BuilderStage(
                stage,
                """
                <property name="uri">\(stage.server.url("/"))</property><property name="srcset">\(srcset)</property>
                """
            )
            stage.present()
            ui.wait(for: "loaded")
            expectEqual(ui.picture.currentImage?.color, 0x00AA00)
            expectEqual(stage.server.requests.map(\.path), ["/00aa00/120x96.png"])
        },

        Scenario("The image of dark-uri is shown in a dark style, and the other one when it is empty") {
            let stage = try Stage()
            stage.setSetting("gtk-application-prefer-dark-theme", 0)
            let (light, dark) = (stage.url(0xEEEEEE), stage.url(0x222222))
            let ui = try BuilderStage(
                stage,
                #"<property name="uri">\#(light)</property><property name="dark-uri">\#(dark)</property>"#
            )
            stage.present()
            ui.wait(for: "loaded")
            expectEqual(ui.picture.currentImage?.color, 0xEEEEEE)
            stage.setSetting("gtk-application-prefer-dark-theme", 1)
            expect(MainLoopPump.run(until: { ui.picture.currentImage?.color == 0x222222 }))
            ui.picture.widget.setText("dark-uri", nil)
            expect(MainLoopPump.run(until: { ui.picture.currentImage?.color == 0xEEEEEE }))
            ui.picture.widget.setText("dark-uri", "http://[")
            ui.wait(for: "failed")
        },

        Scenario("A failure has a message and shows the child for it, which a click on it and a new image remove") {
            let isBroken = EventLog<Bool>()
            let stage = try Stage { request in
                request.path == "/000001/8x8.png" && isBroken.all.isEmpty ? .notFound : Stage.answer(request)
            }
            let ui = try BuilderStage(
                stage,
                """
                <property name="uri">\(stage.url(1, "8x8"))</property>
                <property name="retry-on-click">True</property>
                <child type="failure"><object class="GtkLabel" id="label">
                <property name="ellipsize">end</property>
                <property name="label" bind-source="picture" bind-property="error-message"/>
                </object></child>
                """
            )
            let label = try ui.widget("label")
            stage.present()
            expectEqual(gtk_widget_get_mapped(label), 0)
            ui.wait(for: "failed")
            stage.waitForFrame()
            expectEqual(ui.state, "failed")
            expect(gtk_widget_get_mapped(label) != 0 && gtk_widget_get_width(label) == 100)
            let message = ui.picture.widget.text("error-message") ?? ""
            expect(message.contains("404") && message.contains("/000001/8x8.png"), message)
            expectEqual(label.text("label"), message)
            // It replaces an icon, and leaves a hash in view
            let image = gtk_widget_get_first_child(ui.picture.widget)
            expectEqual(gtk_widget_get_opacity(image), 0)
            // When the server recovers and the user clicks
            isBroken.add(false)
            try stage.click(WidgetPointer(label), until: { ui.state == "shown" })
            ui.wait(for: "loaded")
            expectEqual(gtk_widget_get_mapped(label), 0)
            expectEqual(ui.picture.widget.text("error-message"), nil)
            expectEqual(ui.picture.currentImage?.color, 1)
            // Then another failure shows it again, and the next image takes it away within the call
            ui.picture.widget.setText("blur-hash", blurHash(0x00FF00))
            ui.uri = stage.server.url("/missing").absoluteString
            ui.wait(for: "failed", 2)
            expect(gtk_widget_get_mapped(label) != 0 && gtk_widget_get_opacity(image) == 1)
            ui.uri = stage.url(1, "8x8").absoluteString
            expectEqual(gtk_widget_get_child_visible(label), 0)
            expectEqual(ui.picture.currentImage?.color, 1)
        },

        Scenario("A WebPicture without a uri tells of the loads that the app starts with the calls of the library") {
            let stage = try Stage()
            let ui = try BuilderStage(
                stage,
                #"<child type="failure"><object class="GtkLabel" id="label"/></child>"#
            )
            let label = try ui.widget("label")
            stage.present()
            ui.uri = "http://["
            ui.wait(for: "failed")
            ui.picture.setImage(with: stage.server.url("/missing"))
            ui.wait(for: "failed", 2)
            expect(ui.state == "failed" && gtk_widget_get_mapped(label) != 0)
            ui.picture.setImage(with: stage.url(0x336699, "8x8"))
            ui.wait(for: "loaded")
            expect(ui.state == "shown" && gtk_widget_get_mapped(label) == 0)
        },

        Scenario("A uri that is none, or that no loader takes, fails with a remedy, and the next one loads") {
            let stage = try Stage()
            let ui = try BuilderStage(stage, "")
            stage.present()
            for (count, wrong) in ["http://[", "images/a.png", "gopher://example.org/a.png"].enumerated() {
                ui.uri = wrong
                ui.wait(for: "failed", count + 1)
                let message = ui.picture.widget.text("error-message") ?? ""
                expect(message.contains("invalidURL"), "\(wrong): \(message)")
                expectEqual(ui.state, "failed")
            }
            // The same one is tried again.
            ui.uri = "http://["
            ui.wait(for: "failed", 4)
            ui.uri = "http://["
            ui.wait(for: "failed", 5)
            ui.uri = "resource:///org/gtk/libgtk/icons/16x16/status/image-missing.png"
            ui.wait(for: "loaded")
            expectEqual(ui.picture.widget.text("error-message"), nil)
        },

        Scenario("An avatar of 32 pixels with an icon as its placeholder decodes at its size, and keeps that size") {
            let stage = try Stage()
            let ui = try BuilderStage(
                stage,
                root: """
                    <object class="GtkBox"><child><object class="WebPicture" id="picture">
                    <property name="width-request">32</property><property name="height-request">32</property>
                    <property name="content-fit">cover</property>
                    <property name="placeholder-icon-name">image-x-generic-symbolic</property>
                    <property name="uri">\(stage.url(0x336699, "900x600"))</property>
                    </object></child></object>
                    """
            )
            stage.present()
            ui.wait(for: "loaded")
            stage.waitForFrame()
            expectEqual(ui.picture.currentImage?.pixelSize, PixelSize(width: 48, height: 32))
            expectEqual(gtk_widget_get_width(ui.picture.widget), 32)
        },

        Scenario("A stylesheet finds the widget by its node name, and rounds the image in it", .drawing) {
            let stage = try Stage()
            stage.addStyle("webpicture { border-radius: 40px; min-width: 100px; }")
            let ui = try BuilderStage(
                stage,
                #"<property name="uri">\#(stage.url(0x336699))</property><property name="content-fit">fill</property>"#
            )
            stage.present()
            ui.wait(for: "loaded")
            stage.waitForFrame()
            let drawn = try require(rendered(ui.picture.widget))
            expectEqual(drawn.color(0.5, 0.5), 0x336699)
            expectEqual(drawn.color(0, 0), 0, "the corner")
        },
    ]

    /// The BlurHash of one colour.
    private static func blurHash(_ color: UInt32) -> String {
        let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~")
        return "00" + [571_787, 6_889, 83, 1].map { String(digits[Int(color) / $0 % 83]) }.joined()
    }
}
