internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageInspector
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

extension Scenario {
    /// What the inspector does in and above a window.
    static let inspectorViews: [Scenario] = [
        Scenario("Opening a line of the inspector frames the widgets that show its image, and no others", .drawing) {
            let stage = try Stage()
            let (first, second) = (stage.addImage(), stage.addImage())
            let inspector = stage.openInspector()
            for (picture, color) in [(first, UInt32(0x336699)), (second, 0x993366)] {
                picture.setImage(with: stage.url(color), completion: stage.completion)
            }
            stage.waitForResults(2)
            let line = try stage.waitForLine(of: inspector) { $0.url == stage.url(0x993366) && !$0.isRunning }
            inspector.openLine(line.id)
            expectEqual(inspector.state?.flashes, [box(of: second, in: stage)])
            // It is drawn around the widget, and ends by itself.
            expect(stage.waitForFrame())
            let flash = try require(rendered(stage.window))
            let (x, y) = edge(of: second, in: stage)
            expect(MainLoopPump.run(until: { inspector.state?.flashes.isEmpty == true }))
            expect(stage.waitForFrame())
            let rest = try require(rendered(stage.window))
            expect(flash.color(x, y) != rest.color(x, y), "nothing is drawn")
            // Where no widget shows the image, there is nothing to frame.
            second.clearImage()
            inspector.openLine(line.id)
            expectEqual(inspector.state?.flashes, [])
        },

        Scenario("Where the user wants less motion, the frame around an image does not blink") {
            let stage = try Stage()
            stage.setAnimations(false)
            let picture = stage.addImage()
            let inspector = stage.openInspector()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            let line = try stage.waitForLine(of: inspector) { !$0.isRunning }
            inspector.openLine(line.id)
            expect(stage.waitForFrame())
            let (x, y) = edge(of: picture, in: stage)
            let flash = try require(rendered(stage.window)).color(x, y)
            var colors: Set<UInt32> = []
            expect(
                MainLoopPump.run(until: {
                    if let color = rendered(stage.window)?.color(x, y), inspector.state?.flashes.isEmpty == false {
                        colors.insert(color)
                    }
                    return inspector.state?.flashes.isEmpty == true
                })
            )
            expectEqual(colors, [flash])
        },

        Scenario("With Pick, a click on a widget opens the line of its image, and the widget does not get the click") {
            let stage = try Stage()
            let button = Button()
            gtk_widget_set_size_request(button.widget, 120, 90)
            stage.append(button.widget)
            let clicks = ClickCounter(button.widget)
            let inspector = stage.openInspector()
            button.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            _ = try stage.waitForLine(of: inspector) { !$0.isRunning }
            try inspector.press("Pick") { inspector.state?.isPicking == true }
            try stage.click(button) { inspector.state?.details != nil }
            expectEqual(inspector.state?.details?.contains(stage.url(0x336699).absoluteString), true)
            expectEqual(inspector.state?.isPicking, false, "after the click")
            expectEqual(clicks.count, 0)
            // The next click is the button's again.
            try stage.click(button) { clicks.count > 0 }
            expect(clicks.count > 0)
        },

        Scenario("Badges tell where images came from, above the window, without changing its layout or its input") {
            let stage = try Stage()
            let picture = stage.addImage(width: 200, height: 100)
            let button = Button()
            stage.append(button.widget)
            let clicks = ClickCounter(button.widget)
            let inspector = stage.openInspector()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            let line = try stage.waitForLine(of: inspector) { !$0.isRunning }
            expect(stage.waitForFrame())
            let (before, content) = (box(of: picture, in: stage), gtk_window_get_child(stage.window.as(GtkWindow.self)))
            expectEqual(inspector.state?.badges, [])
            try inspector.press("Badges") { inspector.state?.badges.isEmpty == false }
            expectEqual(inspector.state?.badges, ["Network \(try require(line.duration).inMilliseconds)"])
            expect(stage.waitForFrame())
            expectEqual(box(of: picture, in: stage), before)
            expectEqual(gtk_window_get_child(stage.window.as(GtkWindow.self)), content)
            try stage.click(button) { clicks.count > 0 }
            expect(clicks.count > 0, "the button got no click")
            // A badge follows the newest load.
            picture.clearImage()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            expect(MainLoopPump.run(until: { inspector.state?.badges.first?.hasPrefix("Memory") == true }))
            // Images out of sight have none.
            gtk_widget_set_visible(picture.widget, 0)
            expect(MainLoopPump.run(until: { inspector.state?.badges.isEmpty == true }))
        },

        Scenario(
            "A closed inspector observes nothing and leaves nothing in the window, and an open one draws nothing at rest"
        ) {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            let count = children(of: stage.window)
            let inspector = stage.openInspector()
            expectEqual(children(of: stage.window), count + 1, "with the layer")
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            try inspector.press("Badges") { inspector.state?.badges.isEmpty == false }
            expect(stage.manager.isObserved)
            // An inspector at rest draws no frames.
            expect(becomesIdle(stage), "the open inspector keeps drawing")
            inspector.isOpen = false
            expect(!stage.manager.isObserved, "the closed inspector observes")
            expect(inspector.state == nil)
            expectEqual(children(of: stage.window), count)
            expectEqual(children(of: stage.box), 1)
            expect(becomesIdle(stage), "the closed inspector keeps drawing")
            // It opens and closes as often as one likes.
            for _ in 0..<5 { inspector.toggle() }
            expect(stage.manager.isObserved)
            expect(stage.waitForFrame())
            inspector.toggle()
            expect(!stage.manager.isObserved)
        },

        Scenario("The window of the inspector ends with the window that it inspects") {
            let stage = try Stage()
            let inspector = ImageInspector.install(in: WidgetPointer(stage.window), manager: stage.manager)
            expect(ImageInspector.install(in: WidgetPointer(stage.window)) === inspector)
            // It opens with the window.
            inspector.isOpen = true
            expect(!inspector.isOpen)
            stage.present()
            expect(inspector.isOpen)
            let own = try require(gtk_widget_get_root(try require(inspector.pane).widget))
            expect(own != OpaquePointer(stage.window))
            gtk_window_destroy(UnsafeMutableRawPointer(own).assumingMemoryBound(to: GtkWindow.self))
            expect(!inspector.isOpen, "after its window was closed")
            inspector.isOpen = true
            expect(inspector.isOpen)
            gtk_window_destroy(stage.window.as(GtkWindow.self))
            expect(!inspector.isOpen)
            expect(!stage.manager.isObserved)
        },

        Scenario("Tab reaches every control of the inspector, each of which has a name") {
            let stage = try Stage()
            let inspector = stage.openInspector()
            stage.manager.load(stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            let line = try stage.waitForLine(of: inspector) { !$0.isRunning }
            for isOpen in [false, true] {
                if isOpen { inspector.openLine(line.id) }
                expect(stage.waitForFrame())
                let controls = inspector.controls(of: gtk_button_get_type())
                expect(controls.count >= (isOpen ? 8 : 9), "\(controls.count) controls")
                for control in controls {
                    expect(
                        gtk_test_accessible_has_property(OpaquePointer(control), GTK_ACCESSIBLE_PROPERTY_LABEL) != 0,
                        "a control has no name"
                    )
                }
                var reached: Set<UnsafeMutablePointer<GtkWidget>> = []
                gtk_window_set_focus(stage.window.as(GtkWindow.self), nil)
                for _ in 0..<40 {
                    gtk_widget_child_focus(stage.window, GTK_DIR_TAB_FORWARD)
                    if let focus = gtk_window_get_focus(stage.window.as(GtkWindow.self)) { reached.insert(focus) }
                }
                let missing = controls.filter { !reached.contains($0) }
                expectEqual(missing.count, 0, "controls that Tab does not reach")
            }
        },

        Scenario("The inspector shows frames, memory against its limit, and the work that goes on") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let inspector = stage.openInspector()
            stage.manager.load(stage.url(0x336699), completion: stage.completion)
            expect(MainLoopPump.run(until: { inspector.state?.activity.last == "Transfers 1, decoders 0" }))
            gate.open()
            stage.waitForResults(1)
            expect(MainLoopPump.run(until: { inspector.state?.activity.last == "Transfers 0, decoders 0" }))
            let texts = inspector.state?.activity ?? []
            expect(texts.first?.contains("frames/s") == true, "\(texts)")
            let limit = stage.manager.cache.memoryStatistics.maximumByteCount.inBytes
            expect(texts.dropFirst().first?.hasSuffix("of \(limit), 1 image") == true, "\(texts)")
        },
    ]

    /// The place of a widget in its window.
    @MainActor
    private static func box(of picture: Picture, in stage: Stage) -> [Double] {
        var bounds = graphene_rect_t()
        expect(gtk_widget_compute_bounds(picture.widget, stage.window, &bounds) != 0)
        return [bounds.origin.x, bounds.origin.y, bounds.size.width, bounds.size.height].map(Double.init)
    }

    /// A point on the left edge of a widget, as fractions of its window.
    @MainActor
    private static func edge(of picture: Picture, in stage: Stage) -> (x: Double, y: Double) {
        let box = box(of: picture, in: stage)
        let (width, height) = (gtk_widget_get_width(stage.window), gtk_widget_get_height(stage.window))
        return ((box[0] + 1.5) / Double(width), (box[1] + box[3] / 2) / Double(height))
    }

    /// Whether no frame is drawn for half a second.
    @MainActor
    private static func becomesIdle(_ stage: Stage) -> Bool {
        var last = ContinuousClock.now
        stage.afterPaint { last = .now }
        return MainLoopPump.run(until: { .now - last > .milliseconds(500) })
    }

    @MainActor
    private static func children(of widget: UnsafeMutablePointer<GtkWidget>) -> Int {
        var count = 0
        var child = gtk_widget_get_first_child(widget)
        while let next = child {
            count += 1
            child = gtk_widget_get_next_sibling(next)
        }
        return count
    }
}

/// Counts the clicks on a button.
@MainActor
private final class ClickCounter {
    private(set) var count = 0

    init(_ button: UnsafeMutablePointer<GtkWidget>) {
        let callback: @convention(c) (gpointer, gpointer) -> Void = { _, box in
            MainActor.assumeIsolated { Unmanaged<ClickCounter>.fromOpaque(box).takeUnretainedValue().count += 1 }
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(button),
            "clicked",
            unsafeBitCast(callback, to: GCallback.self),
            Unmanaged.passRetained(self).toOpaque(),
            { box, _ in Unmanaged<ClickCounter>.fromOpaque(box!).release() },
            GConnectFlags(rawValue: 0)
        )
    }
}

extension ImageManager {
    /// Whether anybody observes the loads.
    fileprivate var isObserved: Bool { pipeline.dependencies.observers.isActive }
}
