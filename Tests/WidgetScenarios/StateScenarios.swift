internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

extension Scenario {
    static let states: [Scenario] = [
        Scenario("A button shows the image of its state, or that of the normal state when the state has none", .drawing)
        {
            let stage = try Stage()
            let button = ToggleButton()
            gtk_widget_set_size_request(button.widget, 80, 60)
            stage.append(button.widget)
            stage.present()
            let colors: [(ButtonImageState, UInt32)] = [
                (.normal, 0x0000FF), (.prelight, 0x00FF00), (.checked, 0xFF0000),
            ]
            for (state, color) in colors {
                button.setImage(
                    with: stage.url(color),
                    for: state,
                    completion: stage.completion
                )
            }
            stage.waitForResults(3)
            @MainActor func shown() -> UInt32? {
                stage.waitForFrame()
                return rendered(button.widget)?.color(0.5, 0.5)
            }
            expectEqual(shown(), 0x0000FF)
            gtk_widget_set_state_flags(button.widget, GTK_STATE_FLAG_PRELIGHT, 0)
            expectEqual(shown(), 0x00FF00, "prelight")
            expectEqual(button.displayedImageURL, stage.url(0x00FF00))
            gtk_toggle_button_set_active(button.widget.as(GtkToggleButton.self), 1)
            expectEqual(shown(), 0xFF0000, "checked and prelight")
            gtk_toggle_button_set_active(button.widget.as(GtkToggleButton.self), 0)
            gtk_widget_unset_state_flags(button.widget, GTK_STATE_FLAG_PRELIGHT)
            gtk_widget_set_state_flags(button.widget, GTK_STATE_FLAG_SELECTED, 0)
            expectEqual(shown(), 0x0000FF, "selected has none")
            expectEqual(button.displayedImageURL, stage.url(0x0000FF))
            for (state, color) in colors {
                expectEqual(button.imageBinding(for: state).currentImage?.color, color)
                expectEqual(button.imageBinding(for: state).imageBinding.request?.url, stage.url(color))
            }
            // A state whose image is removed falls back again.
            button.imageBinding(for: .normal).clearImage()
            button.imageBinding(for: .prelight).clearImage()
            gtk_widget_set_state_flags(button.widget, GTK_STATE_FLAG_PRELIGHT, 0)
            gtk_toggle_button_set_active(button.widget.as(GtkToggleButton.self), 1)
            expectEqual(shown(), 0xFF0000)
        },

        Scenario("The states of one button load independently, and cancelling one leaves the others") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let button = Button()
            gtk_widget_set_size_request(button.widget, 80, 60)
            stage.append(button.widget)
            stage.present()
            for (index, state) in ButtonImageState.allCases.enumerated() {
                button.setImage(
                    with: stage.url(UInt32(index + 1) * 0x111111),
                    for: state,
                    completion: stage.completion
                )
            }
            button.imageBinding(for: .active).cancelImageLoad()
            gate.open()
            stage.waitForResults(ButtonImageState.allCases.count)
            expectEqual(stage.results.count { $0.errorCode == .cancelled }, 1)
            expect(button.imageBinding(for: .active).currentImage == nil)
            expectEqual(button.imageBinding(for: .insensitive).currentImage?.color, 0x555555)
        },

        Scenario("An image that arrives or is cleared behind a label is that of the next setImage", .drawing) {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let button = ToggleButton()
            gtk_widget_set_size_request(button.widget, 60, 44)
            stage.append(button.widget)
            stage.present()
            button.setImage(with: stage.url(0x336699), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            gtk_button_set_label(button.widget.as(GtkButton.self), "Label")
            gate.open()
            stage.waitForResults(1)
            expect(button.imageBinding(for: .normal).currentImage == nil)

            button.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(2)
            stage.waitForFrame()
            expectEqual(rendered(button.widget)?.color(0.5, 0.5), 0x336699)

            button.setImage(with: stage.url(0x993366), for: .checked, completion: stage.completion)
            stage.waitForResults(3)
            gtk_button_set_label(button.widget.as(GtkButton.self), "Label")
            button.imageBinding(for: .checked).clearImage()
            button.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(4)
            gtk_toggle_button_set_active(button.widget.as(GtkToggleButton.self), 1)
            stage.waitForFrame()
            expectEqual(rendered(button.widget)?.color(0.5, 0.5), 0x336699)
        },

        Scenario("An image that arrives behind an icon of the app shows when it is set again") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let image = Image()
            stage.append(image.widget)
            stage.present()
            image.setImage(with: stage.url(0x336699), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            gtk_image_set_from_icon_name(image.widget.opaque, "edit-find")
            gate.open()
            stage.waitForResults(1)
            expect(image.currentImage == nil)

            image.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(image.currentImage?.color, 0x336699)
        },

        Scenario("A button with an image for one state draws none in the others", .drawing) {
            let stage = try Stage()
            let button = ToggleButton()
            gtk_widget_set_size_request(button.widget, 60, 44)
            stage.append(button.widget)
            stage.present()
            stage.waitForFrame()
            let empty = rendered(button.widget)?.color(0.5, 0.5)
            button.setImage(with: stage.url(0x336699), for: .checked, completion: stage.completion)
            stage.waitForResults(1)
            gtk_toggle_button_set_active(button.widget.as(GtkToggleButton.self), 1)
            stage.waitForFrame()
            expectEqual(rendered(button.widget)?.color(0.5, 0.5), 0x336699)
            gtk_toggle_button_set_active(button.widget.as(GtkToggleButton.self), 0)
            stage.waitForFrame()
            expectEqual(rendered(button.widget)?.color(0.5, 0.5), empty)
        },

        Scenario(
            "A background covers the button behind its label, does not affect its size and is freed with it",
            .drawing,
            .density
        ) {
            let stage = try Stage()
            let button = Button()
            gtk_button_set_label(button.widget.as(GtkButton.self), "Label")
            gtk_widget_set_halign(button.widget, GTK_ALIGN_CENTER)
            stage.append(button.widget)
            stage.present()
            let (width, height) = (gtk_widget_get_width(button.widget), gtk_widget_get_height(button.widget))
            button.setBackgroundImage(
                with: stage.url(0x00AA00, "600x400"),
                completion: stage.completion
            )
            button.setBackgroundImage(
                with: stage.url(0xAA0000, "600x400"),
                for: .prelight,
                completion: stage.completion
            )
            stage.waitForResults(2)
            stage.waitForFrame()
            expectEqual(gtk_widget_get_width(button.widget), width)
            expectEqual(gtk_widget_get_height(button.widget), height)
            let drawn = try require(rendered(button.widget))
            // The background covers the padding inside the rounded corners.
            expectEqual(drawn.color(0.06, 0.5), 0x00AA00, "left")
            expectEqual(drawn.color(0.5, 0.1), 0x00AA00, "top")
            expectEqual(drawn.color(0.94, 0.5), 0x00AA00, "right")
            let decoded = try require(button.backgroundImageBinding(for: .normal).currentImage?.pixelSize)
            expect(decoded.width < 300, "decoded at \(decoded)")
            expectEqual(String(cString: gtk_button_get_label(button.widget.as(GtkButton.self))), "Label")
            gtk_widget_set_state_flags(button.widget, GTK_STATE_FLAG_PRELIGHT, 0)
            stage.waitForFrame()
            expectEqual(rendered(button.widget)?.color(0.06, 0.5), 0xAA0000, "prelight")
            stage.remove(button.widget)
        },

        Scenario("A background keeps its aspect ratio, however wide its button is", .drawing) {
            let stage = try Stage { _ in
                // Red, green and blue beside each other
                .ok(
                    TestImage.make(size: PixelSize(width: 90, height: 90), format: .png) { x, _ in
                        [0xFF0000, 0x00FF00, 0x0000FF][x / 30]
                    },
                    contentType: "image/png"
                )
            }
            let button = Button()
            gtk_widget_set_size_request(button.widget, 60, 180)
            gtk_widget_set_halign(button.widget, GTK_ALIGN_CENTER)
            stage.append(button.widget)
            stage.present()
            // When the button is a third as wide as high
            button.setBackgroundImage(
                with: stage.server.url("/a"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            stage.waitForFrame()
            // Then only the middle third is seen
            let drawn = try require(rendered(button.widget))
            for x in [0.1, 0.5, 0.9] { expectEqual(drawn.color(x, 0.5), 0x00FF00, "at \(x)") }
            stage.remove(button.widget)
        },

        Scenario("A menu button can have a background") {
            let stage = try Stage()
            let button = MenuButton()
            // Since GTK 4.14 a menu button without anything to open is insensitive, and drawn paler for that.
            gtk_menu_button_set_popover(OpaquePointer(button.widget), gtk_popover_new())
            gtk_widget_set_size_request(button.widget, 80, 60)
            gtk_widget_set_halign(button.widget, GTK_ALIGN_CENTER)
            stage.append(button.widget)
            stage.present()
            button.setBackgroundImage(with: stage.url(0x00AA00), completion: stage.completion)
            button.setImage(with: stage.url(0xAA0000, "8x8"), completion: stage.completion)
            stage.waitForResults(2)
            stage.waitForFrame()
            expectEqual(rendered(button.widget)?.color(0.06, 0.5), 0x00AA00)
            stage.remove(button.widget)
        },

        Scenario("An image shows its highlighted image while it is highlighted") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            picture.imageBinding.highlighted.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            stage.waitForResults(2)
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0x0000FF)
            picture.imageBinding.isHighlighted = true
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0xFF0000)
            expectEqual(picture.imageBinding.highlighted.imageBinding.request?.url, stage.url(0xFF0000))
            picture.imageBinding.isHighlighted = false
            picture.imageBinding.highlighted.clearImage()
            picture.imageBinding.isHighlighted = true
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0x0000FF)
        },
    ]
}
