internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageBuilder
import WebImageLinux
import WebImageTesting

extension Scenario {
    static let builderExpressions: [Scenario] = [
        Scenario("An expression that goes null clears the image, and one that cannot be evaluated leaves it") {
            let stage = try Stage()
            let ui = try BuilderStage(
                stage,
                root: """
                    <object class="GtkWindow" id="source"><property name="tooltip-text">\(stage.url(0x336699))</property></object>
                    <object class="GtkBox">
                    <child><object class="WebPicture" id="picture">
                    <property name="width-request">100</property><property name="height-request">80</property>
                    <binding name="uri"><lookup name="tooltip-text">source</lookup></binding>
                    </object></child>
                    <child><object class="WebPicture" id="other">
                    <property name="width-request">100</property><property name="height-request">80</property>
                    <binding name="uri">
                    <lookup name="tooltip-text" type="GtkWidget"><lookup name="transient-for">source</lookup></lookup>
                    </binding>
                    </object></child>
                    </object>
                    """
            )
            let (source, other) = (try ui.widget("source"), WidgetPointer(try ui.widget("other")))
            gtk_widget_set_tooltip_text(stage.window, stage.url(0x993366).absoluteString)
            gtk_window_set_transient_for(source.as(GtkWindow.self), stage.window.as(GtkWindow.self))
            stage.present()
            ui.wait(for: "loaded")
            expectEqual(ui.picture.currentImage?.color, 0x336699)
            expect(MainLoopPump.run(until: { other.currentImage?.color == 0x993366 }))
            // When the text becomes null, and in the other expression the object that has it
            gtk_widget_set_tooltip_text(source, nil)
            gtk_window_set_transient_for(source.as(GtkWindow.self), nil)
            // Then the first widget is empty. GTK tells the second one nothing.
            expectEqual(ui.uri, nil)
            expect(ui.picture.currentImage == nil)
            expectEqual(ui.state, "idle")
            expectEqual(other.currentImage?.color, 0x993366)
            gtk_widget_set_tooltip_text(source, stage.url(0x112233).absoluteString)
            ui.wait(for: "loaded", 2)
            expectEqual(ui.picture.currentImage?.color, 0x112233)
            gtk_window_destroy(source.as(GtkWindow.self))
        },

        Scenario("A widget class with a template shows the image of its WebPicture, and frees it") {
            let stage = try Stage()
            WebPicture.register()
            let type = Self.templateType("TemplateCard", of: gtk_box_get_type())
            let card = UnsafeMutableRawPointer(g_object_new_with_properties(type, 0, nil, nil)!).assumingMemoryBound(
                to: GtkWidget.self
            )
            let picture = WidgetPointer(try require(gtk_widget_get_first_child(card)))
            gtk_widget_set_tooltip_text(card, stage.url(0x336699).absoluteString)
            stage.append(card)
            stage.present()
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x336699 }))
            let freed = Freed(picture.widget)
            stage.remove(card)
            expect(MainLoopPump.run(until: { freed.isFreed }))
        },

        Scenario("A handler may dispose of the widget, which ends its load and its signals", .drawing) {
            for signal in ["loaded", "failed", "notify::state", "notify::progress"] {
                let stage = try Stage()
                let url = signal == "failed" ? stage.server.url("/missing") : stage.url(0x336699)
                let ui = try BuilderStage(stage, #"<property name="uri">\#(url)</property>"#)
                let freed = Freed(ui.picture.widget)
                var (calls, after) = (0, 0)
                ui.picture.nativeWidgetPointer.connect(signal) { [picture = ui.picture] in
                    // The first notification of the state says that it loads.
                    calls += 1
                    stage.remove(picture.widget)
                    g_object_run_dispose(picture.widget.as(GObject.self))
                    picture.widget.setText("uri", "https://example.invalid/never.png")
                    after = ui.events.count
                }
                stage.present()
                expect(MainLoopPump.run(until: { calls > 0 }), signal)
                stage.waitUntilIdle()
                MainLoopPump.runPending()
                // GtkBuilder was asked to notify of uri, so only what follows the handler counts.
                expectEqual(ui.events.dropFirst(after).filter { $0 != "notify::uri" }, [], signal)
                expectEqual(calls, 1, signal)
                ui.forget()
                expect(MainLoopPump.run(until: { freed.isFreed }), signal)
            }
        },

        Scenario("A widget that is dropped while it loads cancels the load and is freed") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let ui = try BuilderStage(stage, #"<property name="uri">\#(stage.url(0x336699))</property>"#)
            let freed = Freed(ui.picture.widget)
            stage.present()
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            let task = try require(ui.picture.imageBinding.task)
            stage.remove(ui.picture.widget)
            ui.forget()
            expect(MainLoopPump.run(until: { freed.isFreed }))
            expect(task.isCancelled)
            gate.open()
            stage.waitUntilIdle()
        },

        Scenario("GtkBuilder names the mistakes of a file") {
            @MainActor func message(_ content: String) -> String? {
                do {
                    let file = #"<interface><object class="WebPicture">\#(content)</object></interface>"#
                    g_object_unref(UnsafeMutableRawPointer(try BuilderStage.load(file)))
                    return nil
                } catch { return (error as? BuilderStage.Mistake)?.text }
            }
            let unknown = message("")
            expect(unknown?.contains("WebPicture") == true, "before the registration: \(unknown ?? "no error")")
            WebPicture.register()
            WebPicture.register()
            expectEqual(message(""), nil)
            for (content, part) in [
                (#"<property name="url">a</property>"#, "WebPicture.url"),
                (#"<signal name="load" handler="gtk_widget_show"/>"#, "load"),
            ] {
                let text = message(content)
                expect(text?.contains(part) == true, "\(content): \(text ?? "no error")")
            }
            // GTK warns of an unknown value, and leaves the property.
            let picture =
                #"<object class="WebPicture" id="picture"><property name="transition">fade</property></object>"#
            let builder = try BuilderStage.load("<interface>\(picture)</interface>")
            expectEqual(
                try require(gtk_builder_get_object(builder, "picture")).as(GtkWidget.self).number("transition"),
                0
            )
            g_object_unref(UnsafeMutableRawPointer(builder))
        },

        Scenario("A list of 10,000 rows of a .ui file shows no wrong image and loads only rows nearby", .drawing) {
            let list = try ListStage(file: rows, count: 10_000)
            list.stage.present()
            expect(MainLoopPump.run(until: { list.isAtRest }))
            var near = Set<String>()
            list.stage.afterPaint {
                for picture in list.mapped {
                    if let path = picture.imageBinding.request?.url.path { near.insert(path) }
                }
            }
            for round in 0..<4 {
                for step in 0...20 {
                    list.scroll(to: Double(round % 2 == 0 ? step : 20 - step) / 20)
                    list.expectNoWrongImage()
                    list.stage.waitForFrame()
                    list.expectNoWrongImage()
                }
                // A list in GTK 4.8 may stay empty after a jump until it is scrolled once more.
                gtk_adjustment_set_value(
                    list.adjustment,
                    gtk_adjustment_get_value(list.adjustment) + (round % 2 == 0 ? -30 : 30)
                )
                expect(MainLoopPump.run(until: { list.isAtRest }), "round \(round)")
                // Then the rows are those of the place, one after another
                let positions = list.mapped.compactMap {
                    $0.imageBinding.request.flatMap { list.urls.firstIndex(of: $0.url) }
                }
                expect(
                    positions.count > 3 && zip(positions, positions.dropFirst()).allSatisfy { $0 + 1 == $1 },
                    "\(positions)"
                )
                expect(round % 2 == 0 ? positions.last ?? 0 > 9_990 : positions.first ?? 99 < 10, "\(positions)")
                for picture in list.mapped {
                    expectEqual(picture.widget.text("uri"), picture.imageBinding.request?.url.absoluteString)
                }
            }
            let asked = Set(list.stage.server.requests.map(\.path))
            print("\(asked.count) of 10000 images were asked for")
            expect(asked.isSubset(of: near), "\(asked.subtracting(near).count) rows were loaded that never came near")
            list.stage.waitUntilIdle()
        },
    ]

    /// A type whose template has a WebPicture with the image that the tooltip of the widget names.
    private static func templateType(_ name: String, of parent: GType) -> GType {
        var query = GTypeQuery()
        g_type_query(parent, &query)
        return g_type_register_static_simple(
            parent,
            name,
            query.class_size,
            { type, _ in
                let template = """
                    <interface><template class="TemplateCard" parent="GtkBox"><child><object class="WebPicture">
                    <property name="width-request">100</property><property name="height-request">80</property>
                    <binding name="uri"><lookup name="tooltip-text">TemplateCard</lookup></binding>
                    </object></child></template></interface>
                    """
                let bytes = template.withCString { g_bytes_new($0, gsize(strlen($0))) }
                gtk_widget_class_set_template(type!.assumingMemoryBound(to: GtkWidgetClass.self), bytes)
                g_bytes_unref(bytes)
            },
            query.instance_size,
            { instance, _ in
                gtk_widget_init_template(UnsafeMutableRawPointer(instance!).assumingMemoryBound(to: GtkWidget.self))
            },
            GTypeFlags(rawValue: 0)
        )
    }

    /// A list whose rows are written in a file.
    private static let rows = """
        <interface>
        <object class="GtkStringList" id="strings"/>
        <object class="GtkNoSelection" id="model"><property name="model">strings</property></object>
        <object class="GtkScrolledWindow" id="scrolled"><property name="vexpand">True</property>
        <child><object class="GtkListView" id="list"><property name="model">model</property>
        <property name="factory"><object class="GtkBuilderListItemFactory"><property name="bytes"><![CDATA[
        <interface><template class="GtkListItem"><property name="child"><object class="WebPicture">
        <property name="width-request">120</property><property name="height-request">90</property>
        <property name="halign">start</property>
        <binding name="uri"><lookup name="string" type="GtkStringObject"><lookup name="item">GtkListItem</lookup></lookup></binding>
        </object></property></template></interface>
        ]]></property></object></property>
        </object></child></object>
        </interface>
        """
}

/// Whether a widget is freed.
@MainActor
private final class Freed {
    private let isAlive: UnsafeMutablePointer<Bool>
    var isFreed: Bool { !isAlive.pointee }

    init(_ widget: UnsafeMutablePointer<GtkWidget>) {
        isAlive = .allocate(capacity: 1)
        isAlive.initialize(to: true)
        // The memory stays, since the widget may outlive this object.
        g_object_weak_ref(
            widget.as(GObject.self),
            { isAlive, _ in isAlive!.assumingMemoryBound(to: Bool.self).pointee = false },
            isAlive
        )
    }
}
