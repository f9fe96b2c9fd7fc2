internal import CWebImageGtk4
import Dispatch
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

private func oneTransferAtATime() -> ImageDownloader {
    var configuration = ImageDownloader.Configuration()
    configuration.maximumConcurrentTransfers = 1
    return ImageDownloader(configuration: configuration)
}

extension Scenario {
    static let lifetime: [Scenario] = [
        Scenario("Loading starts when the widget is mapped") {
            let stage = try Stage()
            let pictures = (0..<225).map { number in
                let picture = Picture()
                picture.setImage(
                    with: stage.url(UInt32(number + 1)),
                    completion: stage.completion
                )
                return picture
            }
            MainLoopPump.runPending()
            expectEqual(stage.server.requests.count, 0)
            expect(stage.isIdle)
            // When three of the widgets are added to the window
            for picture in pictures.prefix(3) {
                gtk_widget_set_size_request(picture.widget, 50, 50)
                stage.append(picture.widget)
            }
            stage.present()
            stage.waitForResults(3)
            expectEqual(stage.server.requests.count, 3)
            expect(pictures.prefix(3).allSatisfy { $0.currentImage != nil })
        },

        Scenario("A widget outlives its wrapper until the next turn of the main loop, or with its parent") {
            let stage = try Stage()
            stage.present()
            // Swift releases a wrapper after its last use.
            @MainActor func child() -> UnsafeMutablePointer<GtkWidget> { Picture().widget }
            let kept = child()
            stage.append(kept)
            expectEqual(gtk_widget_get_parent(kept), stage.box)
            let orphan = WidgetReference(UnsafeMutableRawPointer(child()))
            expect(orphan.address != nil)
            expect(MainLoopPump.run(until: { orphan.address == nil }))
            expectEqual(gtk_widget_get_parent(kept), stage.box)
        },

        Scenario("Images load in the order of the priorities of their requests, and those off screen last") {
            // Given a server that holds the first image, and one transfer at a time
            let (gate, downloader) = (ServerGate(), oneTransferAtATime())
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if request.path.hasPrefix("/000001") { response.faults.gate = gate }
                return response
            } configure: { configuration in
                configuration.downloader = downloader
            }
            stage.present()
            @MainActor func show(_ color: UInt32, _ priority: ImagePriority) -> Picture {
                let picture = stage.addImage(width: 30, height: 20)
                let request = ImageRequest(url: stage.url(color), priority: priority)
                picture.setImage(with: request, completion: stage.completion)
                return picture
            }
            var pictures = [show(1, .veryHigh)]
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            // When others ask in the meantime, of which one goes off screen
            let priorities: [ImagePriority] = [.veryLow, .low, .normal, .normal, .veryHigh]
            for (index, priority) in priorities.enumerated() { pictures.append(show(UInt32(index + 2), priority)) }
            expect(MainLoopPump.run(until: { downloader.transferCounts.waiting == 5 }))
            gtk_widget_set_visible(pictures[4].widget, 0)
            expect(MainLoopPump.run(until: { stage.manager.pendingChangeCount == 0 }))
            gate.open()
            stage.waitForResults(6)
            // Then they are asked for in this order
            let order = stage.server.requests.map { UInt32($0.path.split(separator: "/")[0], radix: 16) ?? 0 }
            expectEqual(Array(order.prefix(3)), [1, 6, 4])
            expectEqual(Set(order[3...4]), [3, 5])
            expectEqual(order.last, 2)
        },

        Scenario("An image that loads for a widget off screen lets those on screen go first, until it is shown") {
            // Given a server that holds the first image, and one transfer at a time
            let (gate, downloader) = (ServerGate(), oneTransferAtATime())
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if request.path.hasPrefix("/000001") { response.faults.gate = gate }
                return response
            } configure: { configuration in
                configuration.downloader = downloader
            }
            stage.present()
            let visible = [stage.addImage(width: 30, height: 20), stage.addImage(width: 30, height: 20)]
            let hidden = [Picture(), Picture()]
            @MainActor func show(_ picture: Picture, _ color: UInt32) {
                let options = BindingOptions(start: .immediately)
                picture.setImage(
                    with: stage.url(color),
                    options: options,
                    completion: stage.completion
                )
            }
            show(visible[0], 1)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            // When two images start that are not on screen, then one that is, and one of the two is put on screen
            show(hidden[0], 2)
            show(hidden[1], 3)
            show(visible[1], 4)
            expect(MainLoopPump.run(until: { downloader.transferCounts.waiting == 3 }))
            stage.append(hidden[1].widget)
            expect(MainLoopPump.run(until: { gtk_widget_get_mapped(hidden[1].widget) != 0 }))
            expect(MainLoopPump.run(until: { stage.manager.pendingChangeCount == 0 }))
            gate.open()
            stage.waitForResults(4)
            // Then the one that is still off screen comes last
            let order = stage.server.requests.map { UInt32($0.path.split(separator: "/")[0], radix: 16) ?? 0 }
            expectEqual(Set(order[1...2]), [3, 4])
            expectEqual(order.last, 2)
        },

        Scenario("A load that is cancelled before its widget is mapped never starts") {
            let stage = try Stage()
            let picture = stage.addImage()
            let load = picture.setImage(
                with: stage.url(0x111111),
                completion: stage.completion
            )
            load.cancel()
            stage.waitForResults(1)
            stage.present()
            expect(stage.waitForFrame())
            expect(stage.isIdle)
            expectEqual(stage.server.requests.count, 0)
            expectEqual(stage.results.map(\.errorCode), [.cancelled])
            // Another load starts.
            picture.setImage(with: stage.url(0x111111), completion: stage.completion)
            stage.waitForResults(2)
            expectEqual(picture.currentImage?.color, 0x111111)
        },

        Scenario("With start .immediately the load starts at once") {
            let stage = try Stage()
            let picture = Picture()
            picture.setImage(
                with: stage.url(0x111111),
                options: BindingOptions(start: .immediately),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.color, 0x111111)
        },

        Scenario("A widget that leaves its window cancels its load and restarts it when it returns") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x111111), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            stage.remove(picture.widget)
            stage.waitForResults(1)
            expectEqual(stage.results[0].errorCode, .cancelled)
            stage.waitUntilIdle()
            gate.open()
            stage.append(picture.widget)
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x111111 }))
            expectEqual(stage.results.count, 1)
        },

        Scenario("No handler is called after the completion, although the widget loads again and knows its progress") {
            // Given the first half of an image
            let loader = FakeLoader(holdsResponses: true)
            let file = TestImage.make(size: PixelSize(width: 300, height: 200), format: .jpeg) { x, y in
                UInt32(x * 77 ^ y * 1013) & 0xFFFFFF
            }
            let stage = try Stage()
            var request = ImageRequest(url: stage.server.url("/a.jpg"), loading: .progressive)
            request.loader = loader
            loader.answer(request.url, with: file)
            @MainActor func sendHalf() {
                expect(MainLoopPump.run(until: { loader.runningCount == 1 }))
                loader.send(file.prefix(file.count / 2), for: request.url, expected: Int64(file.count))
            }
            let picture = stage.addImage()
            let progress = picture.imageProgress
            stage.present()
            let calls = EventLog<String>()
            picture.setImage(
                with: request,
                options: BindingOptions(start: .onlyWhileMapped),
                progress: { _, _ in calls.add("progress") },
                partial: { _ in calls.add("partial") },
                completion: { _ in calls.add("completion") }
            )
            sendHalf()
            expect(MainLoopPump.run(until: { Set(calls.all) == ["progress", "partial"] }))
            // When the widget is unmapped and mapped
            gtk_widget_set_visible(picture.widget, 0)
            stage.waitUntilIdle()
            let count = calls.all.count
            gtk_widget_set_visible(picture.widget, 1)
            sendHalf()
            // Then the handlers hear of the second start, since the load has not ended.
            expect(MainLoopPump.run(until: { Set(calls.all.dropFirst(count)) == ["progress", "partial"] }))
            // When the widget leaves its window, which completes the load, and returns
            g_object_ref(picture.nativeWidgetPointer)
            stage.remove(picture.widget)
            expect(MainLoopPump.run(until: { calls.all.last == "completion" }))
            stage.waitUntilIdle()
            stage.append(picture.widget)
            sendHalf()
            // Then the widget and its progress follow the load that starts, and the handlers do not.
            expect(MainLoopPump.run(until: { progress.received > 0 && picture.currentImage?.isPartial == true }))
            loader.finish(request.url)
            expect(MainLoopPump.run(until: { picture.currentImage?.isPartial == false }))
            g_object_unref(picture.nativeWidgetPointer)
            expectEqual(progress.name, "shown")
            stage.waitUntilIdle()
            MainLoopPump.runPending()
            expectEqual(calls.all.last, "completion")
        },

        Scenario("A widget that moves to another parent within one main-loop iteration keeps its load") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let picture = stage.addImage()
            let other = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)!
            stage.append(other)
            stage.present()
            picture.setImage(with: stage.url(0x111111), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            stage.remove(picture.widget)
            gtk_box_append(other.as(GtkBox.self), picture.widget)
            MainLoopPump.runPending()
            gate.open()
            stage.waitForResults(1)
            expectEqual(stage.results.map(\.errorCode), [nil])
            expectEqual(stage.server.requests.count, 1)
        },

        Scenario("A widget that is destroyed during its load is freed, and its completion is called") {
            let gate = ServerGate()
            let stage = try Stage(heldBy: gate)
            let log = EventLog<String>()
            var picture: Picture? = stage.addImage()
            stage.present()
            picture?.setImage(with: stage.url(0x111111), completion: stage.completion)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            noteEnd(of: picture!.nativeWidgetPointer, log)
            // When the window is destroyed, then the wrapper is released
            gtk_window_destroy(stage.window.as(GtkWindow.self))
            picture = nil
            stage.waitForResults(1)
            expectEqual(stage.results.map(\.errorCode), [.cancelled])
            expectEqual(log.all, ["finalised"])
            stage.waitUntilIdle()
            gate.open()
            MainLoopPump.runPending()
            expectEqual(stage.results.count, 1)
        },

        Scenario(
            "A widget that was never shown is freed on the main thread, on whatever thread its wrapper is released"
        ) {
            let stage = try Stage()
            let log = EventLog<String>()
            var picture: Picture? = Picture()
            picture?.setImage(with: stage.url(0x111111), completion: stage.completion)
            noteEnd(of: picture!.nativeWidgetPointer, log)
            dropElsewhere(picture.take()!)
            expect(MainLoopPump.run(until: { stage.results.count == 1 && log.all == ["finalised"] }), "\(log.all)")
            expectEqual(stage.results.map(\.errorCode), [.cancelled])
        },

        Scenario(
            "A drawn texture is released on the main thread, on whatever thread its last reference is dropped",
            .drawing
        ) {
            let stage = try Stage()
            // The image is larger than those that the GL renderer copies into its texture atlas and keeps.
            let picture = stage.addImage(width: 300, height: 240)
            stage.present()
            // Nothing retains the response, which would retain the image.
            picture.setImage(with: stage.url(0x111111, "400x300"))
            expect(MainLoopPump.run(until: { picture.currentImage != nil }))
            expect(stage.waitForFrame())
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            let texture = try require(gdk_paintable_get_current_image(paintable))
            let log = EventLog<String>()
            noteEnd(of: UnsafeMutableRawPointer(texture), log)
            g_object_unref(UnsafeMutableRawPointer(texture))
            // When the widget shows something else and another thread empties the cache
            picture.clearImage()
            // The last frame retains the texture until the next one is drawn.
            expect(stage.waitForFrame())
            expectEqual(log.all, [])
            let manager = stage.manager
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                manager.cache.removeAllFromMemory()
                done.signal()
            }
            done.wait()
            // Then the texture is released in the next main-loop iteration
            expect(MainLoopPump.run(until: { log.all.count == 1 }), "the texture leaks")
            expectEqual(log.all, ["finalised"])
        },

        Scenario("The async form returns the response and throws when the load is superseded or the task is cancelled")
        {
            let gate = ServerGate()
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if request.path.hasPrefix("/111111") { response.faults.gate = gate }
                return response
            }
            let picture = stage.addImage()
            stage.present()
            let log = EventLog<String>()
            let (slow, quick) = (stage.url(0x111111), stage.url(0x222222))
            @MainActor func wait(_ url: URL) -> Task<Void, Never> {
                Task { @MainActor in
                    do throws(ImageError) {
                        let response = try await picture.setImage(with: url).response
                        log.add(Stage.hex(response.image.color))
                    } catch {
                        log.add("\(error.code.rawValue)")
                    }
                }
            }
            _ = wait(slow)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            _ = wait(quick)
            expect(MainLoopPump.run(until: { log.all.count == 2 }))
            expectEqual(Set(log.all), ["2002", "222222"])
            let cancelled = wait(slow)
            expect(MainLoopPump.run(until: { stage.server.requestCount(path: slow.path()) == 2 }))
            cancelled.cancel()
            expect(MainLoopPump.run(until: { log.all.count == 3 }))
            expectEqual(log.all[2], "2002")
            stage.waitUntilIdle()
            gate.open()
        },
    ]

    /// Records when an object is finalized and whether that happens on the main thread.
    @MainActor
    private static func noteEnd(of object: UnsafeMutableRawPointer, _ log: EventLog<String>) {
        g_object_set_data_full(
            object.assumingMemoryBound(to: GObject.self),
            "gwi-test-end",
            Unmanaged.passRetained(log).toOpaque()
        ) { log in
            let log = Unmanaged<EventLog<String>>.fromOpaque(log!).takeRetainedValue()
            log.add(MainLoopDispatcher.shared.isCurrent ? "finalised" : "finalised elsewhere")
        }
    }

    /// Releases the last reference on another thread.
    private static func dropElsewhere(_ picture: consuming Picture) {
        let box = Unmanaged.passRetained(picture)
        let address = UInt(bitPattern: box.toOpaque())
        DispatchQueue.global().async {
            Unmanaged<Picture>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).release()
        }
    }
}
