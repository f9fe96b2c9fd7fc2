internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import TestSupport
import WebImageLinux
import WebImageTesting

extension Scenario {
    static let models: [Scenario] = [
        Scenario("A filter that changes while images load cancels those that it hides, and each cell shows its item") {
            for isGrid in [false, true] {
                // Given a list whose images are on their way
                let gate = ServerGate()
                let model = try ModelStage(count: 600, heldBy: gate, isGrid: isGrid)
                model.stage.present()
                expect(MainLoopPump.run(until: { gate.waitingCount > 0 }))
                let hidden = model.cells.filter { ModelStage.number(of: $0.text) % 2 == 1 }
                let tasks = hidden.compactMap { $0.picture.imageBinding.task }
                expect(!tasks.isEmpty && tasks.count == hidden.count && tasks.allSatisfy { !$0.isFinished })
                // When every other item is filtered out
                gtk_selection_model_select_all(model.selection)
                model.filter(by: 2)
                // Then the loads of these end
                expect(MainLoopPump.run(until: { tasks.allSatisfy(\.isFinished) }))
                model.expectNoWrongImage()
                gate.open()
                expect(MainLoopPump.run(until: { model.isAtRest && model.stage.isIdle }))
                model.expectNoWrongImage()
                expect(model.cells.allSatisfy { ModelStage.number(of: $0.text) % 2 == 0 })
                for (_, text) in hidden { expect(!model.isInMemory(text), "\(text) was loaded") }
                gtk_window_destroy(model.stage.window.as(GtkWindow.self))
            }
        },

        Scenario("A list that is taken away while a cell asks what it shows leaves that cell alone") {
            let stage = try Stage()
            let strings = gtk_string_list_new(nil)!
            for number in 0..<3000 {
                gtk_string_list_append(strings, stage.url(UInt32(number), "40x30").absoluteString)
            }
            let scrolled = gtk_scrolled_window_new()!
            let (starts, removals) = (EventLog<Int>(), EventLog<Int>())
            let factory = ImageListFactory(
                items: OpaquePointer.init,
                width: 40,
                height: 30,
                manager: stage.manager,
                imageDescription: { _ in
                    if !starts.all.isEmpty, removals.all.isEmpty {
                        removals.add(0)
                        gtk_scrolled_window_set_child(scrolled.opaque, nil)
                    }
                    return nil
                },
                request: { item in URL(string: String(cString: gtk_string_object_get_string(item))) }
            )
            let list = gtk_list_view_new(gtk_no_selection_new(strings), nil)!
            gtk_list_view_set_factory(list.opaque, factory.nativeFactory)
            gtk_scrolled_window_set_child(scrolled.opaque, list)
            gtk_widget_set_vexpand(scrolled, 1)
            stage.append(scrolled)
            stage.present()
            expect(MainLoopPump.run(until: { stage.manager.runningTasks.isEmpty && stage.server.requests.count > 3 }))
            starts.add(0)
            let adjustment = gtk_scrolled_window_get_vadjustment(scrolled.opaque)
            for step in 1..<40 where removals.all.isEmpty {
                gtk_adjustment_set_value(adjustment, Double(step) * 1500)
                stage.waitForFrame()
            }
            expectEqual(removals.all.count, 1)
            stage.waitUntilIdle()
        },

        Scenario("A list by items whose order is reversed prefetches what comes next in the new order") {
            // Given a list in its middle, whose next images are on their way
            let gate = ServerGate()
            let model = try ModelStage(count: 1000, heldBy: gate)
            let prefetcher = model.makePrefetcher()
            model.stage.present()
            model.scrollToMiddle()
            expect(MainLoopPump.run(until: { prefetcher.prefetchedRange.lowerBound > 400 && gate.waitingCount > 0 }))
            let before = model.texts(prefetcher.prefetchedRange)
            // When the order is reversed
            model.reverse()
            let manager = model.stage.manager
            @MainActor func others() -> [String] {
                let next = model.texts(prefetcher.visibleRange.lowerBound..<prefetcher.prefetchedRange.upperBound)
                return before.filter { !next.contains($0) }
            }
            // Then the prefetches of others end after the layout of the next frame
            let haveEnded = MainLoopPump.run(until: {
                let running = manager.runningTasks.map(\.request.url.absoluteString)
                return manager.pendingChangeCount == 0 && Set(running).isDisjoint(with: others())
            })
            expect(haveEnded)
            model.stage.waitForFrame()
            model.expectNoWrongImage()
            gate.open()
            // And the images after those on screen are loaded
            expect(MainLoopPump.run(until: { model.texts(prefetcher.prefetchedRange).allSatisfy(model.isInMemory) }))
            expect(MainLoopPump.run(until: { model.isAtRest && model.stage.isIdle }))
            model.expectNoWrongImage()
            expect(!prefetcher.prefetchedRange.isEmpty)
            expectEqual(prefetcher.prefetchedRange.lowerBound, prefetcher.visibleRange.upperBound)
            for text in others() { expect(!model.isInMemory(text), "\(text) was loaded") }
            prefetcher.stop()
        },

        Scenario("Prefetches go on when items are removed and inserted in front of them") {
            // Given a list in its middle, whose next images are on their way
            let gate = ServerGate()
            let model = try ModelStage(count: 1000, heldBy: gate)
            let prefetcher = model.makePrefetcher()
            model.stage.present()
            model.scrollToMiddle()
            expect(MainLoopPump.run(until: { prefetcher.prefetchedRange.lowerBound > 400 && gate.waitingCount > 0 }))
            let (range, texts) = (prefetcher.prefetchedRange, model.texts(prefetcher.prefetchedRange))
            let asked = model.stage.server.requests.count
            expect(asked > 0)
            // When many items in front of them go, and a few return
            model.remove(100)
            expect(MainLoopPump.run(until: { prefetcher.prefetchedRange.upperBound < range.lowerBound }))
            for number in (90..<95).reversed() { model.insert(number) }
            expect(MainLoopPump.run(until: { prefetcher.prefetchedRange.lowerBound > range.lowerBound - 100 }))
            // Then the same images come next, and each is asked for once
            expectEqual(prefetcher.prefetchedRange.lowerBound, prefetcher.visibleRange.upperBound)
            let next = model.texts(prefetcher.prefetchedRange)
            expect(Set(next).intersection(texts).count >= texts.count - 2, "\(next) after \(texts)")
            model.expectNoWrongImage()
            gate.open()
            expect(
                MainLoopPump.run(until: { next.allSatisfy(model.isInMemory) && model.isAtRest && model.stage.isIdle })
            )
            model.expectNoWrongImage()
            for text in next {
                let path = URL(string: text)?.path ?? ""
                expectEqual(model.stage.server.requestCount(path: path), 1, path)
            }
            prefetcher.stop()
        },

        Scenario("An item that is replaced ahead of those on screen is prefetched without a scroll") {
            // Given a list at rest
            final class Seen { var ended = 0 }
            let seen = Seen()
            let model = try ModelStage(count: 300)
            let prefetcher = model.makePrefetcher()
            model.stage.present()
            @MainActor func isPrefetched() -> Bool {
                let texts = model.texts(prefetcher.prefetchedRange)
                return !texts.isEmpty && texts.allSatisfy(model.isInMemory) && model.isAtRest && model.stage.isIdle
            }
            expect(MainLoopPump.run(until: { isPrefetched() }))
            let range = prefetcher.prefetchedRange
            // When an item that comes next gets another image
            let item = try require(g_list_model_get_item(model.selection, guint(range.lowerBound + 1)))
            g_object_weak_ref(
                item.assumingMemoryBound(to: GObject.self),
                { seen, _ in Unmanaged<Seen>.fromOpaque(seen!).takeUnretainedValue().ended += 1 },
                Unmanaged.passUnretained(seen).toOpaque()
            )
            g_object_unref(item)
            let number = range.lowerBound + 1
            model.insert(number, at: number, size: "160x120", replaces: true)
            let text = model.texts(range)[1]
            expect(text.hasSuffix("160x120.png") && !model.isInMemory(text), text)
            // Then that is loaded, and the list keeps no reference to the other one
            expect(MainLoopPump.run(until: { isPrefetched() }))
            expectEqual(seen.ended, 1)
            // And so are the next ones, until the list has rested for long
            for width in 161..<180 {
                model.insert(number, at: number, size: "\(width)x120", replaces: true)
                expect(MainLoopPump.run(until: { isPrefetched() }))
            }
            expect(model.isInMemory(text))
            expectEqual(prefetcher.prefetchedRange, range)
            // And when the list gets another model, the images of that are
            let strings = gtk_string_list_new(nil)!
            for number in 500..<800 {
                gtk_string_list_append(strings, model.stage.url(UInt32(number), "120x90").absoluteString)
            }
            let selection = gtk_no_selection_new(strings)!
            gtk_list_view_set_model(model.list.list.opaque, selection)
            let other = model.stage.url(UInt32(500 + range.lowerBound), "120x90").absoluteString
            expect(MainLoopPump.run(until: { model.isInMemory(other) && model.isAtRest }))
            model.expectNoWrongImage()
            g_object_unref(UnsafeMutableRawPointer(selection))
            prefetcher.stop()
        },

        Scenario(
            "Cells show the images of their items while these are removed, inserted, sorted and filtered at random"
        ) {
            let model = try ModelStage(count: 500, isGrid: true)
            let prefetcher = model.makePrefetcher()
            model.stage.present()
            model.stage.afterPaint { model.expectNoWrongImage() }
            var random = SeededGenerator(seed: 12)
            // When its model changes between frames, while images load
            for _ in 0..<80 {
                let count = Int(g_list_model_get_n_items(model.strings))
                switch Int.random(in: 0..<5, using: &random) {
                case 0: model.filter(by: Int.random(in: 1...3, using: &random))
                case 1: model.reverse()
                case 2: model.remove(min(count - 100, Int.random(in: 1...20, using: &random)))
                case 3: model.insert(Int.random(in: 0..<2000, using: &random))
                default: model.list.scroll(to: Double.random(in: 0...1, using: &random))
                }
                model.expectNoWrongImage()
                if Bool.random(using: &random) { model.stage.waitForFrame() } else { MainLoopPump.runPending() }
                model.expectNoWrongImage()
            }
            // Then every cell has its image in the end, and the next ones are prefetched
            model.list.scroll(to: 0)
            model.stage.waitForFrame()
            gtk_adjustment_set_value(model.list.adjustment, 200)
            expect(MainLoopPump.run(until: { model.isAtRest && !prefetcher.prefetchedRange.isEmpty }))
            expect(MainLoopPump.run(until: { model.texts(prefetcher.prefetchedRange).allSatisfy(model.isInMemory) }))
            model.expectNoWrongImage()
            prefetcher.stop()
        },

        Scenario("An image in the header of a section does not determine the size of prefetched images") {
            // Given sections whose headers have wide images
            typealias Setter = @convention(c) (OpaquePointer, UnsafeMutableRawPointer?) -> Void
            func setter(_ name: String) throws -> Setter {
                guard let function = dlsym(dlopen(nil, RTLD_NOW), name) else {
                    throw Skipped(reason: "GTK has sections from 4.12 on")
                }
                return unsafeBitCast(function, to: Setter.self)
            }
            let (setHeader, setChild) = (
                try setter("gtk_list_view_set_header_factory"), try setter("gtk_list_header_set_child")
            )
            let setSections = try setter("gtk_sort_list_model_set_section_sorter")
            let model = try ModelStage(count: 300)
            let headers = UnsafeMutableRawPointer(gtk_signal_list_item_factory_new()!)
            var pictures: [WidgetPointer] = []
            let url = model.stage.url(0xFF0000, "300x20")
            headers.connectWithArgument("setup") { header in
                let picture = WidgetPointer(gtk_picture_new())
                picture.imageBinding.setFixedSize(width: 300, height: 20)
                picture.setImage(with: url)
                pictures.append(picture)
                setChild(OpaquePointer(bitPattern: header)!, picture.nativeWidgetPointer)
            }
            let sections = gtk_custom_sorter_new(
                { first, second, _ in
                    gint((ModelStage.number(first!) / 20 - ModelStage.number(second!) / 20).signum())
                },
                nil,
                nil
            )
            setSections(model.sorted, UnsafeMutableRawPointer(sections))
            setHeader(model.list.list.opaque, headers)
            let prefetcher = ListPrefetcher(
                view: model.list.view,
                items: OpaquePointer.init,
                prefetcher: ImagePrefetcher(manager: model.stage.manager)
            ) { URL(string: ModelStage.text($0)) }
            // When the next images are prefetched
            model.stage.present()
            expect(MainLoopPump.run(until: { model.isAtRest && pictures.contains { $0.currentImage != nil } }))
            // Then they have the size of the cells
            let size = try require(model.cells.first?.picture.currentImage?.pixelSize)
            let next = model.texts(prefetcher.prefetchedRange.lowerBound..<prefetcher.prefetchedRange.lowerBound + 3)
            let isThere = MainLoopPump.run(until: {
                next.compactMap { URL(string: $0) }.allSatisfy { url in
                    let hit = model.stage.manager.memoryHit(of: url, inAnySize: true)
                    return hit.image?.pixelSize == size
                }
            })
            expect(!next.isEmpty && isThere)
            model.expectNoWrongImage()
            prefetcher.stop()
        },
    ]
}
