internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

extension Scenario {
    static let trees: [Scenario] = [
        Scenario("All loads of a window or of a part of it can be cancelled, those that wait for their widget included")
        {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let frame = gtk_frame_new(nil)!
            stage.append(frame)
            let inner = Picture()
            gtk_frame_set_child(frame.as(GtkFrame.self), inner.widget)
            let (outer, hidden) = (stage.addImage(), stage.addImage())
            gtk_widget_set_visible(hidden.widget, 0)
            stage.present()
            for (index, picture) in [inner, outer, hidden].enumerated() {
                let url = stage.url(0x111111 * UInt32(index + 1))
                picture.setImage(with: url, completion: stage.completion)
            }
            expect(MainLoopPump.run(until: { gate.waitingCount == 2 }))
            let (window, part) = (WidgetPointer(stage.window), WidgetPointer(frame))
            expectEqual(window.images.runningTasks.count, 3)
            expectEqual(part.images.runningTasks.map(\.request.url), [stage.url(0x111111)])
            // Those of the manager have started, and are the tasks that the app has.
            expectEqual(Set(stage.manager.runningTasks.map(\.request.url)), [stage.url(0x111111), stage.url(0x222222)])
            expect(part.images.runningTasks.allSatisfy { task in stage.manager.runningTasks.contains { $0 === task } })
            part.images.cancelAll()
            stage.waitForResults(1)
            expectEqual(window.images.runningTasks.count, 2)
            window.images.cancelAll()
            stage.waitForResults(3)
            expectEqual(stage.results.map(\.errorCode), [.cancelled, .cancelled, .cancelled])
            expect(window.images.runningTasks.isEmpty)
            gate.open()
            stage.waitUntilIdle()
            expect([inner, outer, hidden].allSatisfy { $0.currentImage == nil })
        },

        Scenario("Cancelling all loads of a manager ends those of widgets, which load the next image that is set") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            stage.manager.cancelAll()
            stage.waitForResults(1)
            expectEqual(stage.results.map(\.errorCode), [.cancelled])
            gate.open()
            picture.setImage(with: stage.url(0x00FF00), completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(picture.currentImage?.color, 0x00FF00)
        },

        Scenario("A suspended part of a window starts no load until it goes on, and the rest of the window does") {
            let stage = try Stage()
            let frame = gtk_frame_new(nil)!
            stage.append(frame)
            let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)!
            gtk_frame_set_child(frame.as(GtkFrame.self), row)
            let outer = stage.addImage()
            stage.present()
            let (window, part, nested) = (WidgetPointer(stage.window), WidgetPointer(frame), WidgetPointer(row))
            part.images.isSuspended = true
            nested.images.isSuspended = true
            // A widget that is added later waits as well.
            let inner = Picture()
            gtk_box_append(row.as(GtkBox.self), inner.widget)
            inner.setImage(with: stage.url(0xFF0000), completion: stage.completion)
            outer.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            stage.waitForResults(1)
            stage.waitForFrame()
            expectEqual(stage.server.requests.map(\.path), [stage.url(0x0000FF).path()])
            expectEqual(window.images.runningTasks.map(\.request.url), [stage.url(0xFF0000)])
            expect(stage.manager.runningTasks.isEmpty)
            // An image in memory is shown all the same.
            inner.setImage(with: stage.url(0x0000FF), completion: stage.completion)
            expectEqual(inner.currentImage?.color, 0x0000FF)
            inner.setImage(with: stage.url(0x00FF00), completion: stage.completion)
            // While one of two marks around it is left, the widget waits.
            part.images.isSuspended = false
            stage.waitForFrame()
            expectEqual(stage.server.requests.count, 1)
            expect(nested.images.isSuspended && !part.images.isSuspended)
            nested.images.isSuspended = false
            expect(MainLoopPump.run(until: { inner.currentImage?.color == 0x00FF00 }))
            stage.waitForResults(4)
            expectEqual(stage.results.map(\.errorCode), [nil, nil, .cancelled, nil])
        },

        Scenario("A load that was suspended is prepared, and looks into memory, when it starts") {
            let seen = EventLog<URL>()
            let stage = try Stage(configure: { configuration in
                configuration.requestProcessor = { request in
                    seen.add(request.url)
                    return request
                }
            })
            let picture = stage.addImage()
            stage.present()
            let (box, url) = (WidgetPointer(UnsafeMutableRawPointer(stage.box)), stage.url(0x336699))
            box.images.isSuspended = true
            picture.setImage(with: url, completion: stage.completion)
            // When the app stores the image before the loads of the window go on
            let image = try WebImage(data: TestImage.solid(0x993366, size: PixelSize(width: 90, height: 60)))
            stage.manager.cache.store(image, for: ImageRequest(url: url), in: .memory)
            let count = seen.all.count
            box.images.isSuspended = false
            // Then no server is asked
            stage.waitForResults(1)
            expectEqual(stage.results.first?.source, .memory)
            expectEqual(picture.currentImage?.color, 0x993366)
            expectEqual(seen.all.count, count + 1)
            expectEqual(stage.server.requests.count, 0)
        },

        Scenario("A widget that leaves a suspended part of the window loads, and a load that is cancelled there fails")
        {
            let stage = try Stage()
            let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)!
            stage.append(row)
            stage.present()
            WidgetPointer(row).images.isSuspended = true
            let (moved, cancelled, destroyed) = (Picture(), Picture(), Picture())
            for (index, picture) in [moved, cancelled, destroyed].enumerated() {
                gtk_box_append(row.as(GtkBox.self), picture.widget)
                let url = stage.url(0x111111 * UInt32(index + 1))
                picture.setImage(with: url, completion: stage.completion)
            }
            stage.waitForFrame()
            cancelled.cancelImageLoad()
            stage.waitForResults(1)
            gtk_box_remove(row.as(GtkBox.self), destroyed.widget)
            stage.waitForResults(2)
            g_object_ref(moved.widget)
            gtk_box_remove(row.as(GtkBox.self), moved.widget)
            stage.append(moved.widget)
            g_object_unref(moved.widget)
            stage.waitForResults(3)
            expectEqual(stage.results.map(\.errorCode), [.cancelled, .cancelled, nil])
            expectEqual(moved.currentImage?.color, 0x111111)
            expectEqual(stage.server.requests.count, 1)
        },
    ]
}
