internal import CWebImageGtk4
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

// XvfbDisplay as tests of apps use it.
extension Scenario {
    static let displays: [Scenario] = [
        Scenario("A screenshot of an X server has the size of its screen and shows the image", .withoutBroadway) {
            let display = try require(xvfb)
            let stage = try Stage()
            let picture = stage.addImage(width: 200, height: 150)
            stage.present()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            let (x, y) = stage.middle(of: picture.widget)
            expect(MainLoopPump.run(until: { (try? display.screenshot().color(x, y)) == 0x336699 }))
            expectEqual(try display.screenshot().pixelSize, PixelSize(width: 1280, height: 900))
            // The file that a test leaves behind when it fails
            let file = try WebImage(data: display.screenshot().data(as: .png))
            expectEqual(file.color(x, y), 0x336699)
            let small = try XvfbDisplay.start(size: PixelSize(width: 320, height: 200))
            expectEqual(try small.screenshot().pixelSize, PixelSize(width: 320, height: 200))
            small.stop()
            do {
                _ = try small.screenshot()
                expect(false, "a screenshot of a display that was stopped")
            } catch {
                expect("\(error)".contains("No X server runs on :"), "\(error)")
            }
        },

        Scenario("A test clicks, types and scrolls on an X server", .withoutBroadway) {
            let display = try require(xvfb)
            let stage = try Stage()
            let toggle = ToggleButton()
            let entry = Entry()
            let scrolled = gtk_scrolled_window_new()!
            let content = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
            gtk_widget_set_size_request(toggle.widget, 100, 30)
            gtk_widget_set_size_request(scrolled, 100, 100)
            gtk_widget_set_size_request(content, 50, 2000)
            gtk_scrolled_window_set_child(scrolled.opaque, content)
            for widget in [toggle.widget, entry.widget, scrolled] { stage.append(widget) }
            stage.present()
            @MainActor
            func act(until isDone: () -> Bool, _ body: (Int, Int) throws -> Void, on widget: WidgetPointer) rethrows {
                // The first event may arrive before the window is where it is to be.
                for _ in 0..<10 where !isDone() {
                    let (x, y) = stage.middle(of: widget.widget)
                    try body(x, y)
                    _ = MainLoopPump.run(until: isDone, timeout: .seconds(1))
                }
                expect(isDone())
            }
            let isPressed = { gtk_toggle_button_get_active(toggle.widget.as(GtkToggleButton.self)) != 0 }
            try act(until: isPressed, { try display.click(x: $0, y: $1) }, on: WidgetPointer(toggle.widget))
            let hasFocus = { gtk_widget_has_focus(gtk_widget_get_first_child(entry.widget)) != 0 }
            try act(until: hasFocus, { try display.click(x: $0, y: $1) }, on: WidgetPointer(entry.widget))
            for character in "Hi 5!" { try display.press(.character(character)) }
            let text = { String(cString: gtk_editable_get_text(entry.widget.opaque)) }
            expect(MainLoopPump.run(until: { text() == "Hi 5!" }), text())
            try display.press(.left)
            try display.press(.character("?"))
            expect(MainLoopPump.run(until: { text() == "Hi 5?!" }), text())
            let position = { gtk_adjustment_get_value(gtk_scrolled_window_get_vadjustment(scrolled.opaque)) }
            let middle = WidgetPointer(scrolled)
            try act(until: { position() > 0 }, { try display.scroll(x: $0, y: $1, steps: 3) }, on: middle)
            try act(until: { position() == 0 }, { try display.scroll(x: $0, y: $1, steps: -9) }, on: middle)
            do {
                try display.press(.character("字"))
                expect(false, "a key that the keyboard lacks")
            } catch {
                expect("\(error)".contains("no key"), "\(error)")
            }
        },
    ]
}

extension Stage {
    /// The middle of a widget on the screen of an X server without a window manager, which puts windows into its corner.
    fileprivate func middle(of widget: UnsafeMutablePointer<GtkWidget>) -> (x: Int, y: Int) {
        let (width, height) = (gtk_widget_get_width(widget), gtk_widget_get_height(widget))
        var (inside, inWindow) = (graphene_point_t(x: Float(width) / 2, y: Float(height) / 2), graphene_point_t())
        expect(gtk_widget_compute_point(widget, window, &inside, &inWindow) != 0)
        var (x, y) = (0.0, 0.0)
        gtk_native_get_surface_transform(window.opaque, &x, &y)
        return (Int(Double(inWindow.x) + x), Int(Double(inWindow.y) + y))
    }
}

extension WebImage {
    /// A pixel as 0xRRGGBB.
    fileprivate func color(_ x: Int, _ y: Int) -> UInt32 {
        let offset = y * pixels.bytesPerRow + x * pixels.format.bytesPerPixel
        return pixels.withUnsafeBytes {
            UInt32($0[offset]) << 16 | UInt32($0[offset + 1]) << 8 | UInt32($0[offset + 2])
        }
    }
}
