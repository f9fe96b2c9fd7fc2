internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import TestSupport
import WebImageLinux
import WebImageTesting

extension Scenario {
    static let lists: [Scenario] = [
        Scenario("The cells of a factory show the images of their positions, also after a jump") {
            let stage = try ListStage(count: 500, isGrid: true)
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest }))
            stage.expectNoWrongImage()
            for share in [0.9, 0.5, 0.0] {
                stage.scroll(to: share)
                stage.stage.waitForFrame()
                // A list in GTK 4.8 may stay empty after a jump until it is scrolled once more.
                gtk_adjustment_set_value(stage.adjustment, gtk_adjustment_get_value(stage.adjustment) - 30)
                expect(MainLoopPump.run(until: { stage.isAtRest }))
                stage.expectNoWrongImage()
            }
            expect(stage.stage.server.requests.count < 200, "\(stage.stage.server.requests.count) requests")
        },

        Scenario("A list keeps the factory that the app has dropped, and releases it once") {
            // Given the list of the documentation, whose factory is gone after the call
            final class Seen { var factories = 0 }
            let stage = try Stage()
            let (window, seen) = (stage.window.as(GtkWindow.self), Seen())
            wholeList(urls: [stage.server.url("/a")], window: window)
            let scrolled = try require(gtk_window_get_child(window))
            let grid = try require(gtk_scrolled_window_get_child(scrolled.opaque))
            let factory = try require(gtk_grid_view_get_factory(grid.opaque))
            g_object_weak_ref(
                UnsafeMutableRawPointer(factory).assumingMemoryBound(to: GObject.self),
                { seen, _ in Unmanaged<Seen>.fromOpaque(seen!).takeUnretainedValue().factories += 1 },
                Unmanaged.passUnretained(seen).toOpaque()
            )
            // When its cells are made
            stage.present()
            expectEqual(seen.factories, 0)
            // Then it ends with the list
            gtk_window_set_child(window, nil)
            expect(MainLoopPump.run(until: { seen.factories == 1 }))
        },

        Scenario("The cells of a factory and the widgets around them are named to assistive technology") {
            // Given a list with names for every other position
            let stage = try ListStage(count: 20)
            // When its first cells are bound
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest }))
            // Then these have a name, and the others have none
            for (position, picture) in stage.mapped.prefix(4).enumerated() {
                let image = picture.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)
                let text = gtk_picture_get_alternative_text(image.opaque).map { String(cString: $0) }
                expectEqual(text, position % 2 == 0 ? "Image \(position)" : nil)
                let item = try require(gtk_widget_get_parent(image))
                let isNamed = gtk_test_accessible_has_property(item.opaque, GTK_ACCESSIBLE_PROPERTY_LABEL) != 0
                expectEqual(isNamed, position % 2 == 0)
            }
        },

        Scenario(
            "A list of 10,000 rows flung from end to end shows no wrong image and loads only rows nearby",
            .drawing
        ) {
            let stage = try ListStage(count: 10_000)
            let prefetcher = ListPrefetcher(
                view: stage.view,
                prefetcher: ImagePrefetcher(manager: stage.stage.manager)
            ) { position in
                ImageRequest(url: stage.urls[position], decodeSize: .cover(PixelSize(width: 120, height: 90)))
            }
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest }))
            var near = Set<String>()
            var work: [Double] = []
            var memory: [Int] = []
            // The rows that are drawn and those that are prefetched count as near.
            stage.stage.afterPaint {
                for picture in stage.mapped { if let url = picture.imageBinding.request?.url { near.insert(url.path) } }
                for position in prefetcher.prefetchedRange { near.insert(stage.urls[position].path) }
            }
            MainThreadMeter.start()
            for round in 0..<10 {
                for step in 0...40 {
                    let share = Double(step) / 40
                    stage.scroll(to: round % 2 == 0 ? share : 1 - share)
                    stage.expectNoWrongImage()
                    // The meter counts the work of this frame from here on.
                    stage.stage.waitForFrame()
                    work.append(MainThreadMeter.take())
                    stage.expectNoWrongImage()
                }
                expect(
                    MainLoopPump.run(until: {
                        return stage.isAtRest
                    })
                )
                memory.append(residentMemory())
            }
            let asked = Set(stage.stage.server.requests.map(\.path))
            expect(asked.isSubset(of: near), "\(asked.subtracting(near).count) rows were loaded that never came near")
            let sorted = work.sorted()
            let median = sorted[sorted.count / 2] * 1000
            let longest = MainThreadMeter.longest * 1000
            // Tests/bench scrolling reads the median from this line and holds it against a limit.
            print(
                "own main-thread work a frame, ms: median \(median), most \(sorted.last! * 1000); longest turn \(longest)"
            )
            print("resident memory after each round, MB: \(memory.map { $0 >> 20 })")
            print("\(asked.count) of 10000 images were asked for")
            // The caches are full after a few rounds, so memory must not grow any further.
            expect(memory[9] - memory[4] < 24 << 20, "memory grows: \(memory.map { $0 >> 20 })")
            prefetcher.stop()
            stage.stage.waitUntilIdle()
        },

        Scenario("The rows ahead of those on screen are prefetched in the direction of scrolling") {
            let stage = try ListStage(count: 1000)
            let manager = stage.stage.manager
            let attachments = (0..<2).map { number in
                { (position: Int) in stage.stage.url(UInt32(position), "1\(number)x9") }
            }
            let prefetcher = ListPrefetcher(
                view: stage.view,
                prefetcher: ImagePrefetcher(manager: manager),
                additionalRequests: { position in attachments.map { ImageRequest(url: $0(position)) } }
            ) {
                ImageRequest(url: stage.urls[$0], decodeSize: .cover(PixelSize(width: 120, height: 90)))
            }
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest && !prefetcher.prefetchedRange.isEmpty }))
            func isInMemory(_ positions: Range<Int>) -> Bool {
                positions.allSatisfy { position in
                    let request = ImageRequest(
                        url: stage.urls[position],
                        decodeSize: .cover(PixelSize(width: 120, height: 90))
                    )
                    return manager.cachedImage(for: request) != nil
                }
            }
            expect(
                prefetcher.visibleRange.contains(0)
                    && prefetcher.prefetchedRange.lowerBound >= prefetcher.visibleRange.upperBound
            )
            expect(MainLoopPump.run(until: { isInMemory(prefetcher.prefetchedRange) }))
            let others = Set(prefetcher.prefetchedRange.flatMap { position in attachments.map { $0(position).path } })
            expect(MainLoopPump.run(until: { others.isSubset(of: stage.stage.server.requests.map(\.path)) }))
            expect(others.allSatisfy { path in stage.stage.server.requests.count { $0.path == path } == 1 })
            expect(!isInMemory(prefetcher.prefetchedRange.upperBound + 3..<prefetcher.prefetchedRange.upperBound + 4))
            // During a fling nothing is loaded on the way; prefetching resumes when the list rests.
            stage.scroll(to: 0.5)
            expect(prefetcher.prefetchedRange.isEmpty, "\(prefetcher.prefetchedRange)")
            stage.stage.waitForFrame()
            gtk_adjustment_set_value(stage.adjustment, gtk_adjustment_get_value(stage.adjustment) + 30)
            expect(MainLoopPump.run(until: { stage.isAtRest && !prefetcher.prefetchedRange.isEmpty }))
            expect(prefetcher.prefetchedRange.lowerBound > 400, "\(prefetcher.prefetchedRange)")
            // After scrolling up a little, the rows above come next.
            let value = gtk_adjustment_get_value(stage.adjustment)
            gtk_adjustment_set_value(stage.adjustment, value - 100)
            expect(
                prefetcher.prefetchedRange.upperBound <= prefetcher.visibleRange.lowerBound,
                "\(prefetcher.prefetchedRange)"
            )
            expect(MainLoopPump.run(until: { isInMemory(prefetcher.prefetchedRange) }))
            prefetcher.stop()
            expect(prefetcher.prefetchedRange.isEmpty)
        },

        Scenario("A prefetcher that is released cancels its loads") {
            // Given a list of which the images ahead wait to be prefetched
            let stage = try ListStage(count: 1000)
            let images = ImagePrefetcher(manager: stage.stage.manager)
            images.isSuspended = true
            var prefetcher: ListPrefetcher? = ListPrefetcher(view: stage.view, prefetcher: images) {
                ImageRequest(url: stage.urls[$0], decodeSize: .cover(PixelSize(width: 120, height: 90)))
            }
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest && prefetcher?.prefetchedRange.isEmpty == false }))
            let ahead = Set((prefetcher?.prefetchedRange ?? 0..<0).map { stage.urls[$0].path })
            let before = Set(stage.stage.server.requests.map(\.path))
            expect(!ahead.isEmpty && ahead.isDisjoint(with: before))
            // When it is released, and there is room for loads
            prefetcher = nil
            images.isSuspended = false
            _ = images.prefetch([ImageRequest(url: stage.urls[900])])
            expect(
                MainLoopPump.run(until: { stage.stage.server.requests.contains { $0.path == stage.urls[900].path } })
            )
            stage.stage.waitUntilIdle()
            // Then none of them is loaded
            expect(ahead.isDisjoint(with: Set(stage.stage.server.requests.map(\.path))))
        },

        Scenario("Rows that are gone before the list rests are not prefetched") {
            // Given a list that is scrolled back a little
            let stage = try ListStage(count: 1000)
            let asked = EventLog<Int>()
            let prefetcher = ListPrefetcher(
                view: stage.view,
                prefetcher: ImagePrefetcher(manager: stage.stage.manager)
            ) { position in
                asked.add(position)
                return ImageRequest(url: stage.urls[position], decodeSize: .cover(PixelSize(width: 120, height: 90)))
            }
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest && !prefetcher.prefetchedRange.isEmpty }))
            stage.scroll(to: 0.5)
            expect(MainLoopPump.run(until: { prefetcher.prefetchedRange.lowerBound > 400 }))
            gtk_adjustment_set_value(stage.adjustment, gtk_adjustment_get_value(stage.adjustment) - 100)
            expect(
                prefetcher.prefetchedRange.upperBound <= prefetcher.visibleRange.lowerBound
                    && prefetcher.prefetchedRange.lowerBound > 400
            )
            // When its model shrinks and it is not laid out before it rests
            gtk_widget_set_visible(stage.scrolled, 0)
            stage.shrink(to: 10)
            let count = asked.all.count
            // Then rows that are left are prefetched, and no others.
            expect(
                MainLoopPump.run(until: { prefetcher.prefetchedRange.upperBound <= 10 }),
                "\(prefetcher.prefetchedRange)"
            )
            expect(asked.all.dropFirst(count).allSatisfy { $0 < 10 })
            prefetcher.stop()
        },

        Scenario("A position whose image gets another transformer is prefetched anew") {
            // Given a list whose next images are prefetched
            let stage = try ListStage(count: 200)
            let manager = stage.stage.manager
            var transformer: ImageTransformer?
            @MainActor func request(_ position: Int) -> ImageRequest {
                ImageRequest(
                    url: stage.urls[position],
                    decodeSize: .cover(PixelSize(width: 120, height: 90)),
                    transformer: transformer
                )
            }
            let prefetcher = ListPrefetcher(
                view: stage.view,
                prefetcher: ImagePrefetcher(manager: manager)
            ) {
                request($0)
            }
            @MainActor func areInMemory() -> Bool {
                !prefetcher.prefetchedRange.isEmpty
                    && prefetcher.prefetchedRange.allSatisfy { manager.cachedImage(for: request($0)) != nil }
            }
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest && areInMemory() }))
            // When the app shows them in grey, and the list is scrolled a little
            transformer = .grayscale
            gtk_adjustment_set_value(stage.adjustment, gtk_adjustment_get_value(stage.adjustment) + 1)
            // Then those images come into memory
            expect(MainLoopPump.run(until: { areInMemory() }))
            prefetcher.stop()
        },

        Scenario("A factory of URLs sets up each of its cells") {
            let stage = try Stage()
            var cells: [WidgetPointer] = []
            let url = stage.url(0x336699)
            let factory = ImageListFactory(
                width: 50,
                height: 50,
                manager: stage.manager,
                configure: { cells.append($0) },
                request: { _ in url }
            )
            let strings = gtk_string_list_new(nil)!
            for _ in 0..<3 { gtk_string_list_append(strings, "item") }
            let native = OpaquePointer(g_object_ref(.init(factory.nativeFactory))!)
            stage.append(gtk_list_view_new(gtk_no_selection_new(strings), native))
            stage.present()
            expect(MainLoopPump.run(until: { cells.count(where: { $0.currentImage?.color == 0x336699 }) == 3 }))
        },

        Scenario("Prefetched images of a grid are memory hits, in whole rows", .density) {
            // Given cells that are wider than they ask for, and images that are larger than the cells
            let stage = try ListStage(count: 500, width: 90, height: 60, imageSize: "400x300", isGrid: true)
            gtk_grid_view_set_min_columns(stage.list.opaque, 3)
            gtk_grid_view_set_max_columns(stage.list.opaque, 3)
            let manager = stage.stage.manager
            let prefetcher = ListPrefetcher(
                view: stage.view,
                prefetcher: ImagePrefetcher(manager: manager)
            ) {
                ImageRequest(url: stage.urls[$0])
            }
            stage.stage.present()
            expect(MainLoopPump.run(until: { stage.isAtRest && !prefetcher.prefetchedRange.isEmpty }))
            @MainActor func next() -> [URL] { prefetcher.prefetchedRange.prefix(6).map { stage.urls[$0] } }
            let isPrefetched = MainLoopPump.run(until: {
                let hits = next().map { manager.memoryHit(of: $0, inAnySize: true).image }
                return hits.count == 6 && hits.allSatisfy { $0 != nil } && stage.stage.isIdle
            })
            expect(isPrefetched)
            // Then whole rows count as visible
            expectEqual(prefetcher.visibleRange.count % 3, 0, "visible positions")
            expect(prefetcher.visibleRange.count >= 6)
            let cell = try require(stage.mapped.first?.widget)
            expect(gtk_widget_get_width(cell) > 110, "the cell is not stretched")
            // When the next rows come on screen
            let urls = Set(next())
            let misses = EventLog<URL>()
            let observation = manager.observe { event in
                if case .memoryMiss = event.kind, urls.contains(event.url) { misses.add(event.url) }
            }
            let value = gtk_adjustment_get_value(stage.adjustment)
            gtk_adjustment_set_value(stage.adjustment, value + 3 * Double(gtk_widget_get_height(cell)))
            let isThere = MainLoopPump.run(until: {
                urls.isSubset(
                    of: stage.mapped.filter { $0.currentImage != nil }.compactMap(\.imageBinding.request?.url)
                )
            })
            // Then nothing is read, fetched or decoded for them.
            expect(isThere)
            expectEqual(misses.all, [])
            withExtendedLifetime(observation) {}
            prefetcher.stop()
        },
    ]
}
