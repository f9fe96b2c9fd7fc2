internal import CWebImageGtk4
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

/// A scrolled window with an image beneath what fills its first screen.
@MainActor
private struct Scroll {
    let picture = Picture()
    private let adjustment: UnsafeMutablePointer<GtkAdjustment>

    init(in stage: Stage) {
        let (scrolled, column, space) = (
            gtk_scrolled_window_new()!, gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!,
            gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
        )
        gtk_widget_set_size_request(space, 100, 1000)
        gtk_widget_set_size_request(picture.widget, 60, 40)
        gtk_box_append(column.as(GtkBox.self), space)
        gtk_box_append(column.as(GtkBox.self), picture.widget)
        gtk_scrolled_window_set_child(scrolled.opaque, column)
        gtk_widget_set_size_request(scrolled, 200, 200)
        stage.append(scrolled)
        adjustment = gtk_scrolled_window_get_vadjustment(scrolled.opaque)
    }

    func toTop() { gtk_adjustment_set_value(adjustment, 0) }
    func toEnd() { gtk_adjustment_set_value(adjustment, gtk_adjustment_get_upper(adjustment)) }
}

extension Scenario {
    static let animationsInView: [Scenario] = [
        Scenario("Images of several sizes play in that of the first, and each is counted once") {
            // Given images of which the second is smaller
            let stage = try Stage()
            let picture = stage.addImage(width: 30, height: 20)
            stage.present()
            picture.imageBinding.playback.isAutomatic = false
            let urls = [stage.url(0xFF0000, "30x20"), stage.url(0x00FF00, "15x10"), stage.url(0x0000FF, "30x20")]
            // When they play
            picture.imageBinding.setAnimation(with: urls, completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            for (index, color) in [0xFF0000, 0x00FF00, 0x0000FF].enumerated() as EnumeratedSequence<[UInt32]> {
                player.seek(to: index)
                expect(MainLoopPump.run(until: { player.currentFrameIndex == index }))
                // Then each frame has the size of the animation
                expectEqual(player.currentFrame.pixelSize, player.image.pixelSize)
                expectEqual(player.currentFrame.color, color)
            }
            let animation = try require(player.image.animation)
            let costs = urls.compactMap {
                stage.manager.memoryHit(of: $0, inAnySize: true).image?.byteCount
            }
            expectEqual(costs.count, 3)
            expectEqual(player.image.byteCount, costs.reduce(0, +))
            expectEqual(animation.size, player.image.pixelSize)
        },

        Scenario("An animation that is scrolled out of view stands still, and goes on from its frame in view") {
            let stage = try animatedStage()
            let scroll = Scroll(in: stage)
            stage.present()
            // Given an animation that was loaded out of view
            scroll.picture.setImage(
                with: stage.server.url("/gif/3-0"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            let player = try require(scroll.picture.imageBinding.player)
            var seen: [Int] = []
            player.onFrame = { seen.append($0) }
            for _ in 0..<3 { stage.waitForFrame() }
            expect(gtk_widget_get_mapped(scroll.picture.widget) != 0 && player.isPlaying && !player.isRunning)
            expect(seen.isEmpty, "\(seen)")
            // When it comes into view
            scroll.toEnd()
            // Then it plays.
            expect(MainLoopPump.run(until: { seen.count > 8 }))
            // When it leaves again
            scroll.toTop()
            // Then it stops at the next frame,
            expect(MainLoopPump.run(until: { !player.isRunning }))
            let index = player.currentFrameIndex
            seen = []
            for _ in 0..<3 { stage.waitForFrame() }
            expect(seen.isEmpty && player.currentFrameIndex == index, "\(seen)")
            // And goes on from there, without a jump or a gap.
            scroll.toEnd()
            stage.waitForFrame()
            expect(rendered(scroll.picture.widget) != nil)
            expect(MainLoopPump.run(until: { seen.count > 1 }))
            expectEqual(seen.first, (index + 1) % player.frameCount)
        },

        Scenario("An animation that wakes right before its widget is unmapped stands still out of view afterwards") {
            let stage = try animatedStage()
            let scroll = Scroll(in: stage)
            let (widget, column) = (scroll.picture.widget, gtk_widget_get_parent(scroll.picture.widget)!)
            stage.present()
            scroll.toEnd()
            scroll.picture.setImage(with: stage.server.url("/gif/3-0"), completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(scroll.picture.imageBinding.player)
            expect(MainLoopPump.run(until: { player.isRunning }))
            // Given an animation that sleeps because it is not drawn
            gtk_widget_set_opacity(column, 0)
            expect(MainLoopPump.run(until: { !player.isRunning }))
            // When it is drawn and unmapped within a turn of the main loop, and mapped again
            var isHidden = false
            stage.afterPaint {
                if !isHidden { gtk_widget_set_visible(widget, 0) }
                isHidden = true
            }
            gtk_widget_set_opacity(column, 1)
            expect(MainLoopPump.run(until: { isHidden }))
            stage.waitForFrame()
            gtk_widget_set_visible(widget, 1)
            expect(MainLoopPump.run(until: { player.isRunning && gtk_widget_get_mapped(widget) != 0 }))
            // Then it stops out of view.
            scroll.toTop()
            expect(MainLoopPump.run(until: { !player.isRunning }))
        },

        Scenario("An animation plays in a popover and where a part of it is in view, and wakes when its widget moves") {
            let stage = try animatedStage()
            let (pictures, fixed) = ((0..<2).map { _ in Picture() }, gtk_fixed_new()!)
            gtk_widget_set_overflow(fixed, GTK_OVERFLOW_HIDDEN)
            gtk_widget_set_size_request(fixed, 100, 100)
            stage.append(fixed)
            for (picture, y) in zip(pictures, [-39.0, -40.0]) {
                gtk_widget_set_size_request(picture.widget, 60, 40)
                gtk_fixed_put(fixed.as(GtkFixed.self), picture.widget, 0, y)
            }
            // A popover reaches beyond its window.
            let (popover, inside) = (gtk_popover_new()!, Picture())
            gtk_widget_set_size_request(inside.widget, 60, 40)
            gtk_popover_set_child(popover.as(GtkPopover.self), inside.widget)
            gtk_widget_set_parent(popover, fixed)
            // It takes no focus, which the window would have to get back.
            gtk_popover_set_autohide(popover.as(GtkPopover.self), 0)
            stage.present()
            gtk_popover_popup(popover.as(GtkPopover.self))
            for picture in pictures + [inside] {
                picture.setImage(
                    with: ImageRequest(url: stage.server.url("/gif/3-0"), decodeSize: .original),
                    completion: stage.completion
                )
            }
            stage.waitForResults(3)
            let players = try (pictures + [inside]).map { try require($0.imageBinding.player) }
            var frames: Set<Int> = []
            expect(
                MainLoopPump.run(until: {
                    for index in [0, 2] where players[index].currentFrameIndex > 0 { frames.insert(index) }
                    return frames.count == 2
                }),
                "\(frames)"
            )
            expect(players[0].isRunning && players[2].isRunning && !players[1].isRunning)
            gtk_fixed_move(fixed.as(GtkFixed.self), pictures[1].widget, 0, 10)
            expect(MainLoopPump.run(until: { players[1].currentFrameIndex > 0 }))
            gtk_popover_popdown(popover.as(GtkPopover.self))
            expect(MainLoopPump.run(until: { gtk_widget_get_mapped(popover) == 0 }))
            gtk_widget_unparent(popover)
        },

        Scenario(
            "Of two widgets that play in step, one that is out of view is not drawn, and catches up when it comes back"
        ) {
            let stage = try animatedStage()
            let (scroll, other) = (Scroll(in: stage), Picture())
            gtk_widget_set_size_request(other.widget, 60, 40)
            stage.append(other.widget)
            stage.present()
            for picture in [scroll.picture, other] {
                picture.imageBinding.playback.isSynchronized = true
                picture.setImage(
                    with: ImageRequest(url: stage.server.url("/gif/3-0"), decodeSize: .original),
                    completion: stage.completion
                )
            }
            stage.waitForResults(2)
            let player = try require(scroll.picture.imageBinding.player)
            expect(player === other.imageBinding.player)
            expect(MainLoopPump.run(until: { player.currentFrameIndex == 2 }))
            // Given
            let changes = ChangeCounter(of: try require(gtk_picture_get_paintable(scroll.picture.widget.opaque)))
            var frames = 0
            player.onFrame = { _ in frames += 1 }
            // When
            expect(MainLoopPump.run(until: { frames > 8 }))
            // Then
            expectEqual(changes.count, 0)
            // When
            scroll.toEnd()
            // Then
            expect(MainLoopPump.run(until: { changes.count > 2 }))
            changes.stop()
        },
    ]
}

/// Counts how often a paintable has asked to be drawn.
@MainActor
final class ChangeCounter {
    private let paintable: OpaquePointer
    private let handler: UInt
    private let storage = UnsafeMutablePointer<Int>.allocate(capacity: 1)

    init(of paintable: OpaquePointer) {
        self.paintable = paintable
        storage.pointee = 0
        let count: @convention(c) (UnsafeMutableRawPointer, UnsafeMutablePointer<Int>) -> Void = { _, count in
            count.pointee += 1
        }
        let callback = unsafeBitCast(count, to: GCallback.self)
        let object = UnsafeMutableRawPointer(g_object_ref(UnsafeMutableRawPointer(paintable)))
        handler = g_signal_connect_data(
            object,
            "invalidate-contents",
            callback,
            storage,
            nil,
            GConnectFlags(rawValue: 0)
        )
    }

    var count: Int { storage.pointee }

    func stop() {
        g_signal_handler_disconnect(UnsafeMutableRawPointer(paintable), handler)
        g_object_unref(UnsafeMutableRawPointer(paintable))
        storage.deallocate()
    }
}
