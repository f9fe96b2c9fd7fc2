internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import Synchronization
import TestSupport
import WebImageTesting

extension Scenario {
    static let refreshing: [Scenario] = [
        Scenario("A refresh shows the cached image within the call and the new one when it arrives") {
            let color = Mutex<UInt32>(0xFF0000)
            let gate = ServerGate()
            let stage = try Stage { request in
                let (now, size) = (color.withLock { $0 }, PixelSize(width: 64, height: 48))
                var response = ServerResponse.ok(TestImage.solid(now, size: size), contentType: "image/png")
                response.headers.append(("ETag", "\"\(now)\""))
                if request.headers["if-none-match"] != nil { response.faults.gate = gate }
                return response.conditional(on: request)
            }
            let picture = stage.addImage()
            stage.present()
            let url = stage.server.url("/a.png")
            picture.setImage(with: url, completion: stage.completion)
            stage.waitForResults(1)
            color.withLock { $0 = 0x00FF00 }
            // When the widget that shows the image refreshes it
            var seen: [UInt32?] = []
            for _ in 0..<2 {
                picture.setImage(
                    with: ImageRequest(url: url, cachePolicy: .refresh),
                    placeholder: .icon("image-missing-symbolic"),
                    completion: stage.completion
                )
                seen.append(picture.currentImage?.color)
            }
            expectEqual(seen, [0xFF0000, 0xFF0000])
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            expectEqual(stage.results.count, 1)
            gate.open()
            stage.waitForResults(3)
            expectEqual(picture.currentImage?.color, 0x00FF00)
            expectEqual(stage.server.requests.count, 2)
            // Another refresh finds nothing changed.
            picture.setImage(
                with: ImageRequest(url: url, cachePolicy: .refresh),
                completion: stage.completion
            )
            stage.waitForResults(4)
            expectEqual(stage.results[3].source, .revalidated)
            expectEqual(stage.server.requests.count, 3)
        },
        Scenario("A reload that fails leaves the image on display, also while it is tried again") {
            let isBusy = Mutex(false)
            let stage = try Stage { isBusy.withLock { $0 } ? .status(503) : Stage.answer($0) }
            let picture = stage.addImage()
            stage.present()
            var request = ImageRequest(url: stage.url(0x336699))
            picture.setImage(with: request, completion: stage.completion)
            stage.waitForResults(1)
            isBusy.withLock { $0 = true }
            request.cachePolicy = .reload
            for count in 2...3 {
                picture.setImage(with: request, completion: stage.completion)
                expectEqual(picture.currentImage?.color, 0x336699)
                stage.waitForResults(count)
                expectEqual(stage.results[count - 1].errorCode, .badStatus)
            }
            gtk_widget_set_visible(picture.widget, 0)
            gtk_widget_set_visible(picture.widget, 1)
            var colors: Set<UInt32?> = []
            let isAsked = MainLoopPump.run {
                colors.insert(picture.currentImage?.color)
                return stage.server.requests.count == 4
            }
            expect(isAsked && colors == [0x336699])
        },
        Scenario("A reload of the image on display keeps it until the new one arrives") {
            let isFirst = Mutex(true)
            let gate = ServerGate()
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if !isFirst.withLock({ exchange(&$0, with: false) }) { response.faults.gate = gate }
                return response
            }
            let picture = stage.addImage()
            stage.present()
            let request = ImageRequest(url: stage.url(0x336699))
            picture.setImage(with: request, completion: stage.completion)
            stage.waitForResults(1)
            var reload = request
            reload.cachePolicy = .reload
            picture.setImage(
                with: reload,
                placeholder: .color(.black),
                completion: stage.completion
            )
            expectEqual(picture.currentImage?.color, 0x336699)
            expect(MainLoopPump.run(until: { gate.waitingCount == 1 }))
            expectEqual(picture.currentImage?.color, 0x336699)
            gate.open()
            stage.waitForResults(2)
            expectEqual(stage.results[1].source, .loader)
            // The image that it has brought can be loaded again as well.
            picture.setImage(with: reload, completion: stage.completion)
            stage.waitForResults(3)
            expectEqual(stage.server.requests.count, 3)
            // The same URL may be another image to another manager, such as that of another user.
            picture.imageBinding.manager = .testing(FakeLoader())
            picture.setImage(with: request, placeholder: .color(.black))
            expectEqual(picture.currentImage?.color, nil)
        },
        Scenario("A refresh without a server keeps the cached image and completes with the error") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            let url = stage.url(0x336699)
            picture.setImage(with: url, completion: stage.completion)
            stage.waitForResults(1)
            stage.server.stop()
            picture.setImage(
                with: ImageRequest(url: url, cachePolicy: .refresh),
                completion: stage.completion
            )
            stage.waitForResults(2)
            expect((try? stage.results[1].get().refreshError) != nil)
            expectEqual(picture.currentImage?.color, 0x336699)
        },
        Scenario("An image that failed offline is loaded when connectivity returns") {
            let network = ManualNetwork()
            let stage = try Stage(network: network)
            let picture = stage.addImage()
            stage.present()
            let closed = try LocalImageServer { _ in .notFound }
            let (port, url) = (closed.port, closed.url("/336699/64x48.png"))
            closed.stop()
            picture.setImage(with: url, completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(stage.results[0].errorCode, .connectionFailed)
            let server = try LocalImageServer(port: port, handler: Stage.answer)
            network.status = ImageNetworkStatus(isAvailable: false)
            expect(picture.currentImage == nil)
            network.status = ImageNetworkStatus()
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x336699 }))
            expectEqual(stage.results.count, 1)
            expectEqual(server.requests.count, 1)
        },
        Scenario(
            "An image that failed for a reason that may pass is loaded when its widget is mapped again, and after a rest"
        ) {
            for (isMappedAgain, isCancelled) in [(true, false), (false, false), (true, true)] {
                let stage = try Stage()
                let picture = stage.addImage()
                stage.present()
                let closed = try LocalImageServer { _ in .notFound }
                let (port, url) = (closed.port, closed.url("/336699/64x48.png"))
                closed.stop()
                picture.setImage(with: url, completion: stage.completion)
                stage.waitForResults(1)
                expectEqual(stage.results[0].errorCode, .connectionFailed)
                let server = try LocalImageServer(port: port, handler: Stage.answer)
                if isCancelled { picture.cancelImageLoad() }
                if isMappedAgain {
                    gtk_widget_set_visible(picture.widget, 0)
                    gtk_widget_set_visible(picture.widget, 1)
                }
                if isCancelled {
                    // Another one is loaded from the server meanwhile.
                    let other = stage.addImage()
                    other.setImage(with: server.url("/996633/64x48.png"))
                    expect(MainLoopPump.run(until: { other.currentImage?.color == 0x996633 }))
                    expect(picture.currentImage == nil)
                } else {
                    expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x336699 }))
                }
                expectEqual(stage.results.count, 1)
                expectEqual(server.requests.count, 1)
            }
        },
        Scenario("A fallback gives way to the image when connectivity returns, or when the image is asked for again") {
            let network = ManualNetwork()
            let stage = try Stage(network: network)
            let picture = stage.addImage()
            stage.present()
            let closed = try LocalImageServer { _ in .notFound }
            let (port, url) = (closed.port, closed.url("/336699/64x48.png"))
            closed.stop()
            var request = ImageRequest(url: url)
            request.fallbackURLs = [stage.url(0xAA0000)]
            @MainActor func load() {
                picture.setImage(with: request, completion: stage.completion)
            }
            load()
            stage.waitForResults(1)
            expectEqual(try? stage.results[0].get().fallbackError?.code, .connectionFailed)
            expectEqual(picture.currentImage?.color, 0xAA0000)
            // While the server cannot be reached, asking again brings the fallback again.
            load()
            var colorsMeanwhile: Set<UInt32?> = []
            expect(
                MainLoopPump.run(until: {
                    colorsMeanwhile.insert(picture.currentImage?.color)
                    return stage.results.count == 2
                })
            )
            expectEqual(colorsMeanwhile, [0xAA0000], "the fallback stays")
            let server = try LocalImageServer(port: port, handler: Stage.answer)
            network.status = ImageNetworkStatus(isAvailable: false)
            network.status = ImageNetworkStatus()
            // The fallback stays until the image is there.
            var colors: Set<UInt32?> = []
            expect(
                MainLoopPump.run(until: {
                    colors.insert(picture.currentImage?.color)
                    return picture.currentImage?.color == 0x336699
                })
            )
            expectEqual(colors, [0xAA0000, 0x336699])
            expectEqual(stage.results.count, 2)
            expectEqual(server.requests.count, 1)
            load()
            stage.waitForResults(3)
            expectEqual(server.requests.count, 1, "the image is there")
        },
        Scenario("Half of the memory cache is evicted when the last window is hidden") {
            let stage = try Stage()
            let other = gtk_window_new()!
            stage.present()
            gtk_window_present(other.as(GtkWindow.self))
            let picture = stage.addImage()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            var configuration = ImageManager.Configuration()
            configuration.diskCache = nil
            configuration.maximumMemoryCacheByteCount = 30_000
            let manager = ImageManager(configuration: configuration)
            let pixels = try require(PixelBuffer(size: PixelSize(width: 50, height: 20), format: .rgb) { $0.fill(0) })
            for number in 0..<10 {
                let request = ImageRequest(url: stage.url(UInt32(number)))
                manager.cache.store(WebImage(pixels: pixels), for: request, in: .memory)
            }
            expectEqual(manager.cache.memoryStatistics.count, 10)
            gtk_widget_set_visible(other, 0)
            expectEqual(manager.cache.memoryStatistics.count, 10, "one window is left")
            gtk_widget_set_visible(stage.window, 0)
            expectEqual(manager.cache.memoryStatistics.count, 5)
        },
        Scenario("The state of the network and of the power saver is that of GLib") {
            let manager = ImageManager(configuration: ImageManager.Configuration())
            // The test can serve another state.
            if getenv("GWI_CONSTRAINED") != nil {
                let isNoticed = MainLoopPump.run(until: {
                    manager.networkStatus.isMetered && manager.networkStatus.isPowerSaving
                })
                return expect(isNoticed, "\(manager.networkStatus)")
            }
            let network = g_network_monitor_get_default()
            expect(
                MainLoopPump.run(until: {
                    manager.networkStatus.isAvailable == (g_network_monitor_get_network_available(network) != 0)
                        && manager.networkStatus.isMetered == (g_network_monitor_get_network_metered(network) != 0)
                })
            )
            let power = g_power_profile_monitor_dup_default()
            defer { g_object_unref(UnsafeMutableRawPointer(power)) }
            expectEqual(
                manager.networkStatus.isPowerSaving,
                g_power_profile_monitor_get_power_saver_enabled(power) != 0
            )
        },
    ]
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func fill(_ byte: UInt8) { initializeMemory(as: UInt8.self, repeating: byte) }
}
