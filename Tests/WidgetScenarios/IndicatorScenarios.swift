internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

/// Records what it is asked to draw.
@MainActor
private final class Witness: ImageIndicating {
    var fractions: [Double?] = []
    var times: [Double] = []
    var isRightToLeft: Bool?
    nonisolated init() {}
    var isAnimated: Bool { true }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        fractions.append(fraction)
        times.append(time)
        isRightToLeft = canvas.isRightToLeft
        canvas.bar(x: 0, y: 0, width: canvas.width, height: canvas.height, opacity: 1)
    }
}

extension Scenario {
    static let indicators: [Scenario] = [
        Scenario("An indicator is drawn during a load, knows its progress and disappears") {
            let gate = ServerGate()
            let file = TestImage.make(size: PixelSize(width: 200, height: 100), format: .png) { x, y in
                UInt32(x * 7919 ^ y * 104_729) & 0xFFFFFF
            }
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/png")
                response.faults.bodyGate = (afterBytes: file.count / 2, gate: gate)
                return response
            }
            let picture = stage.addImage()
            stage.present()
            let witness = Witness()
            picture.imageIndicator = ImageIndicator(witness, delay: .zero)
            let progress = picture.imageProgress
            picture.setImage(with: stage.server.url("/a"), completion: stage.completion)
            expect(MainLoopPump.run(until: { witness.fractions.contains { ($0 ?? 0) > 0.1 } }))
            expect(witness.fractions.allSatisfy { ($0 ?? 0) < 0.9 }, "\(witness.fractions)")
            expect(progress.fraction > 0.1 && progress.fraction < 0.9 && progress.expected == Int64(file.count))
            // The indicator moves.
            expect(MainLoopPump.run(until: { (witness.times.last ?? 0) > 0.02 }))
            gate.open()
            stage.waitForResults(1)
            expectEqual(progress.fraction, 1)
            let count = witness.fractions.count
            stage.waitForFrame()
            stage.waitForFrame()
            expectEqual(witness.fractions.count, count, "it is drawn still")
        },

        Scenario("A bar fills from the side at which lines begin, and an icon is that of the direction", .drawing) {
            // Given an image of which a half has arrived
            let file = TestImage.make(size: PixelSize(width: 200, height: 100), format: .png) { x, y in
                UInt32(x * 7919 ^ y * 104_729) & 0xFFFFFF
            }
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/png")
                response.faults.bodyGate = (afterBytes: file.count / 2, gate: ServerGate())
                return response
            }
            let (picture, icon, own) = (stage.addImage(), stage.addImage(), stage.addImage())
            stage.present()
            picture.imageIndicator = ImageIndicator(ImageIndicator.bar.style, delay: .zero)
            let witness = Witness()
            own.imageIndicator = ImageIndicator(witness, delay: .zero)
            own.setImage(with: stage.server.url("/a"))
            picture.setImage(
                with: stage.server.url("/a"),
                placeholder: .color(ImageColor(0xFFFFFF))
            )
            icon.clearImage(placeholder: .icon("go-next-symbolic"))
            expect(MainLoopPump.run(until: { picture.imageProgress.fraction > 0.3 }))
            var icons: [WebImage] = []
            for (direction, x) in [(GTK_TEXT_DIR_LTR, 0.25), (GTK_TEXT_DIR_RTL, 0.75)] {
                for widget in [picture.widget, icon.widget, own.widget] { gtk_widget_set_direction(widget, direction) }
                stage.waitForFrame()
                let shown = try require(rendered(picture.widget))
                // The filled part is darker than the rest.
                expect(shown.color(x, 0.5) & 0xFF < shown.color(1 - x, 0.5) & 0xFF, "\(direction)")
                icons.append(try require(rendered(icon.widget)))
                expectEqual(witness.isRightToLeft, direction == GTK_TEXT_DIR_RTL, "an indicator of the app")
            }
            expect(icons[0].difference(from: icons[1]) > 0, "the arrow points the same way")
        },

        Scenario("An indicator ends when the widget gets no image instead") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            stage.present()
            let witness = Witness()
            picture.imageIndicator = ImageIndicator(witness, delay: .zero)
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            expect(MainLoopPump.run(until: { !witness.times.isEmpty }))
            // When there is no URL any more
            picture.setImage(with: URL?.none, completion: stage.completion)
            stage.waitForResults(2)
            let count = witness.fractions.count
            stage.waitForFrame()
            stage.waitForFrame()
            expectEqual(witness.fractions.count, count, "it is drawn still")
            gate.open()
        },

        Scenario("An indicator appears only for slow loads and never for a memory hit") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x0000FF: gate])
            let picture = stage.addImage()
            stage.present()
            let witness = Witness()
            picture.imageIndicator = ImageIndicator(witness, delay: .seconds(600))
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            stage.waitForFrame()
            gate.open()
            stage.waitForResults(1)
            expect(witness.fractions.isEmpty)
            picture.imageIndicator = ImageIndicator(witness, delay: .zero)
            picture.clearImage()
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            stage.waitForResults(2)
            stage.waitForFrame()
            expect(witness.fractions.isEmpty)
        },

        Scenario(
            "Each built-in indicator draws something and changes as the load progresses",
            .drawing,
            .density
        ) {
            for indicator in [ImageIndicator.activity, .progress, .bar, .activity(size: 12), .progress(size: 400)] {
                let gate = ServerGate()
                let stage = try Stage(gates: [0x0000FF: gate])
                let picture = stage.addImage()
                stage.present()
                let empty = rendered(picture.widget)
                var indicator = indicator
                indicator.delay = .zero
                picture.imageIndicator = indicator
                picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
                var first: WebImage?
                expect(
                    MainLoopPump.run(until: {
                        first = rendered(picture.widget)
                        return first.map { $0 != empty && $0.pixels.withUnsafeBytes { $0.contains { $0 != 0 } } }
                            ?? false
                    })
                )
                let drawn = try require(first)
                expect(
                    MainLoopPump.run(until: {
                        rendered(picture.widget).map { $0.difference(from: drawn) > 0 } ?? false
                    }),
                    "\(indicator.style) does not move"
                )
                gate.open()
                stage.waitForResults(1)
            }
        },

        Scenario("With reduced motion an indicator stands still") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x0000FF: gate])
            stage.setAnimations(false)
            let picture = stage.addImage()
            stage.present()
            let witness = Witness()
            picture.imageIndicator = ImageIndicator(witness, delay: .zero)
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            expect(MainLoopPump.run(until: { witness.times.count > 0 }))
            stage.waitForFrame()
            stage.waitForFrame()
            expect(witness.times.allSatisfy { $0 == 0 })
            gate.open()
            stage.waitForResults(1)
        },

        Scenario("A failed load shows the error placeholder, and a click retries it") {
            let answers = EventLog<String>()
            let stage = try Stage { request in
                answers.add(request.path)
                return answers.all.count == 1 ? .notFound : Stage.answer(request)
            }
            let picture = stage.addImage(width: 300, height: 300)
            stage.present()
            picture.errorPlaceholder = .color(ImageColor(0xFF0000))
            picture.imageBinding.retriesOnClick = true
            var reports = 0
            picture.setImage(
                with: stage.url(0x00FF00),
                placeholder: .color(ImageColor(0x0000FF)),
                progress: { _, _ in reports += stage.results.count },
                completion: stage.completion
            )
            stage.waitForFrame()
            stage.waitForResults(1)
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0xFF0000)
            expect(gtk_test_accessible_has_property(picture.widget.opaque, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION) != 0)
            expectEqual(picture.imageBinding.task?.isFinished, true)
            // When the image is clicked
            try stage.click(picture, until: { picture.currentImage != nil })
            expectEqual(picture.currentImage?.color, 0x00FF00)
            expectEqual(stage.results.count, 1)
            expectEqual(reports, 0, "reports after the completion")
            expect(gtk_test_accessible_has_property(picture.widget.opaque, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION) == 0)
        },

        Scenario("A click on the icon of an entry retries it") {
            let log = EventLog<Int>()
            let stage = try Stage { request in
                log.add(1)
                return log.all.count == 1 ? .notFound : Stage.answer(request)
            }
            let entry = Entry()
            gtk_widget_set_size_request(entry.widget, 300, -1)
            stage.append(entry.widget)
            stage.present()
            entry.errorPlaceholder = .icon("image-missing-symbolic")
            entry.imageBinding.retriesOnClick = true
            entry.setImage(with: stage.url(0x00FF00), completion: stage.completion)
            stage.waitForResults(1)
            stage.waitForFrame()
            try stage.click(entry, x: 0.06, until: { entry.currentImage != nil })
            expectEqual(entry.currentImage?.color, 0x00FF00)
        },

        Scenario("An indicator that is not visible yet hides no image of another state") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x0000FF: gate])
            let button = Button()
            stage.append(button.widget)
            stage.present()
            button.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            stage.waitForFrame()
            let width = gtk_widget_get_width(button.widget)
            // When the image of the state that the button gets loads with an indicator that is to appear much later
            button.imageBinding(for: .insensitive).imageIndicator = .activity(size: 32, delay: .seconds(1000))
            button.setImage(with: stage.url(0x0000FF), for: .insensitive)
            gtk_widget_set_sensitive(button.widget, 0)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            stage.waitForFrame()
            expectEqual(gtk_widget_get_width(button.widget), width)
            gate.open()
            stage.waitUntilIdle()
        },

        Scenario("The error placeholder and the retry disappear as soon as another image is set") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x0000FF: gate])
            let picture = stage.addImage()
            stage.present()
            picture.setImage(
                with: stage.server.url("/missing"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expect(gtk_test_accessible_has_property(picture.widget.opaque, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION) != 0)
            picture.setImage(with: stage.url(0x0000FF))
            expect(gtk_test_accessible_has_property(picture.widget.opaque, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION) == 0)
            gate.open()
        },

        Scenario("Assistive technology gets the label of an image and its busy state") {
            let (gate, other) = (ServerGate(), ServerGate())
            let stage = try Stage(gates: [0x0000FF: gate, 0x00FF00: other])
            let picture = stage.addImage()
            let button = Button()
            stage.append(button.widget)
            stage.present()
            picture.setImageDescription("A blue square")
            button.setImageDescription("Blue")
            expectEqual(
                gtk_picture_get_alternative_text(picture.widget.opaque).map { String(cString: $0) },
                "A blue square"
            )
            expectEqual(gtk_accessible_get_accessible_role(picture.widget.opaque), GTK_ACCESSIBLE_ROLE_IMG)
            expect(gtk_test_accessible_has_property(button.widget.opaque, GTK_ACCESSIBLE_PROPERTY_LABEL) != 0)
            picture.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            expect(isBusy(picture.widget), "it is not busy")
            gate.open()
            stage.waitForResults(1)
            expect(!isBusy(picture.widget), "it is busy still")
            // A load that waits until the widget is on screen follows one that has started
            picture.setImage(with: stage.url(0x00FF00))
            expect(MainLoopPump.run(until: { other.waitingCount == 1 }))
            gtk_widget_set_visible(picture.widget, 0)
            expect(isBusy(picture.widget), "it is not busy while it is hidden")
            picture.setImage(with: stage.url(0xFF0000))
            expect(!isBusy(picture.widget), "it is busy before its load has started")
            other.open()
        },

        Scenario("A placeholder of the app keeps no handlers of what has shown it") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x0000FF: gate])
            let own = ImagePaintable()
            own.setImage(solid(0xFF0000))
            let signal = g_signal_lookup("invalidate-contents", gdk_paintable_get_type())
            @MainActor func hasHandlers() -> Bool {
                g_signal_has_handler_pending(.init(own.nativePaintable), signal, 0, 1) != 0
            }
            var others = (0..<3).map { _ in ImagePaintable() }
            for other in others {
                let placeholder = ImagePlaceholder.paintable(own.nativePaintable)
                other.setImage(with: stage.url(0x0000FF), placeholder: placeholder)
            }
            expect(hasHandlers(), "nobody follows the placeholder")
            others.removeAll()
            expect(MainLoopPump.run(until: { !hasHandlers() }))
            gate.open()
        },

        Scenario("A widget that shows nothing is not drawn again for a load without a placeholder") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x0000FF: gate, 0xFF0000: gate])
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x0000FF))
            let changes = ChangeCounter(of: try require(gtk_picture_get_paintable(picture.widget.opaque)))
            picture.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            expectEqual(changes.count, 0)
            gate.open()
            stage.waitForResults(1)
            expect(changes.count > 0)
            changes.stop()
        },

        Scenario("A placeholder can be a colour, a paintable of the app or an image with its own URL") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x0000FF: gate])
            let picture = stage.addImage()
            picture.contentFit = .stretch
            stage.present()
            @MainActor func show(_ placeholder: ImagePlaceholder) {
                picture.setImage(
                    with: stage.url(0x0000FF, "\(Int.random(in: 10..<10_000))x10"),
                    placeholder: placeholder
                )
                stage.waitForFrame()
            }
            show(.color(ImageColor(0x00FF00)))
            expectEqual(rendered(picture.widget)?.color(0.1, 0.1), 0x00FF00)
            let own = ImagePaintable()
            own.setImage(solid(0xFF0000))
            show(.paintable(own.nativePaintable))
            expectEqual(rendered(picture.widget)?.color(0.1, 0.1), 0xFF0000)
            // The placeholder can change.
            own.setImage(solid(0x00FFFF))
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.1, 0.1), 0x00FFFF)
            show(.url(stage.url(0x123456)))
            expect(
                MainLoopPump.run(until: {
                    stage.waitForFrame()
                    return rendered(picture.widget)?.color(0.1, 0.1) == 0x123456
                })
            )
            expect(picture.currentImage == nil)
            // A placeholder in memory is shown at once.
            show(.color(ImageColor(0x00FF00)))
            show(.url(stage.url(0x123456)))
            expectEqual(rendered(picture.widget)?.color(0.1, 0.1), 0x123456)
            gate.open()
        },
    ]

    @MainActor
    private static func isBusy(_ widget: UnsafeMutablePointer<GtkWidget>) -> Bool {
        gtk_test_accessible_has_state(widget.opaque, GTK_ACCESSIBLE_STATE_BUSY) != 0
    }
}
