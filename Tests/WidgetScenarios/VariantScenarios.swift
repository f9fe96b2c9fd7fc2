internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageServices
import WebImageTesting

extension Stage {
    /// The files of an image of one colour, each twice as wide as high.
    fileprivate func variants(_ color: UInt32, _ widths: [Int]) -> ImageVariants {
        let files = widths.map { ($0, url(color, "\($0)x\($0 / 2)")) }
        var variants = ImageVariants(url: files[0].1, widths: Dictionary(uniqueKeysWithValues: files))
        variants.aspectRatio = 2
        return variants
    }

    /// The widths of the files that the server was asked for, in order.
    fileprivate var widths: [Int] {
        server.requests.compactMap { $0.path.split(separator: "/").last?.prefix { $0 != "x" } }.compactMap { Int($0) }
    }

    fileprivate var scale: Int { Int(gtk_widget_get_scale_factor(window)) }
}

extension Scenario {
    static let variants: [Scenario] = [
        Scenario("A widget loads the file that fits its size in pixels of the screen", .density) {
            let stage = try Stage()
            let picture = stage.addImage(width: 100, height: 50)
            stage.present()
            // When an image of several files is shown in 100x50 application pixels
            picture.setImage(
                with: stage.variants(0x336699, [50, 100, 200, 400]),
                completion: stage.completion
            )
            stage.waitForResults(1)
            // Then the file for that many pixels was loaded
            expectEqual(stage.widths, [100 * stage.scale])
            expectEqual(picture.currentImage?.pixelSize.width, 100 * stage.scale)
        },

        Scenario(
            "A widget that grows loads a larger file; the image stays meanwhile, and smaller never replaces larger",
            .density
        ) {
            // Given an image in its smallest file
            let gate = ServerGate()
            let stage = try Stage { request in
                var response = Stage.answer(request)
                if request.path.contains("400x") || request.path.contains("800x") { response.faults.gate = gate }
                return response
            }
            let picture = stage.addImage(width: 100, height: 50)
            stage.present()
            let sides = [100, 200, 400, 800]
            picture.setImage(
                with: stage.variants(0x336699, sides),
                completion: stage.completion
            )
            stage.waitForResults(1)
            let first = try require(picture.currentImage)
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            let natural = gdk_paintable_get_intrinsic_width(paintable)
            // When the widget grows
            gtk_widget_set_size_request(picture.widget, 400, 200)
            let isAsked = MainLoopPump.run(until: { stage.widths.last == 400 * stage.scale })
            expect(isAsked, "\(stage.widths)")
            // Then the image stays until the larger file is there
            expectEqual(picture.currentImage, first)
            gate.open()
            expect(MainLoopPump.run(until: { picture.currentImage?.pixelSize.width == 400 * stage.scale }))
            expectEqual(stage.widths, [100 * stage.scale, 400 * stage.scale])
            // And the size that the image wants in a layout is the same
            expectEqual(gdk_paintable_get_intrinsic_width(paintable), natural)
            // When it shrinks
            let large = try require(picture.currentImage)
            gtk_widget_set_size_request(picture.widget, 60, 30)
            for _ in 0..<3 { expect(stage.waitForFrame()) }
            // Then nothing changes
            expectEqual(picture.currentImage, large)
            expectEqual(stage.widths.count, 2)
            stage.waitUntilIdle()
        },

        Scenario("A widget that is larger than every file loads the largest, once") {
            let stage = try Stage()
            let picture = stage.addImage(width: 300, height: 150)
            stage.present()
            picture.setImage(
                with: stage.variants(0x336699, [50, 100]),
                completion: stage.completion
            )
            stage.waitForResults(1)
            for _ in 0..<5 { expect(stage.waitForFrame()) }
            stage.waitUntilIdle()
            expectEqual(stage.widths, [100])
        },

        Scenario("A larger file that another widget shows serves at once, without a request", .density) {
            let stage = try Stage()
            let (large, small) = (stage.addImage(width: 100, height: 50), stage.addImage(width: 80, height: 40))
            stage.present()
            let variants = stage.variants(0x336699, [80, 100, 160, 200])
            large.setImage(with: variants, completion: stage.completion)
            stage.waitForResults(1)
            // When a smaller widget shows the same image
            small.setImage(with: variants)
            // Then it does so within the call
            expectEqual(small.currentImage?.pixelSize.width, 100 * stage.scale)
            expectEqual(stage.widths, [100 * stage.scale])
        },

        Scenario("A widget that shows the smaller file from memory before it has a size asks for the one that fits") {
            let stage = try Stage()
            let small = stage.addImage(width: 50, height: 25)
            stage.present()
            let variants = stage.variants(0x336699, [100, 400])
            small.setImage(with: variants, completion: stage.completion)
            stage.waitForResults(1)
            // When a widget without a size yet shows the image
            let large = stage.addImage(width: 390, height: 195)
            large.setImage(with: variants)
            expect(large.currentImage != nil, "not shown within the call")
            // Then it loads the larger file once it is drawn
            let isSharp = MainLoopPump.run(until: { (large.currentImage?.pixelSize.width ?? 0) >= 390 })
            expect(isSharp, "\(large.currentImage?.pixelSize.width ?? 0), \(stage.widths)")
        },

        Scenario("The density of the screen chooses among files of several densities", .density) {
            let stage = try Stage()
            let picture = stage.addImage(width: 100, height: 50)
            stage.present()
            let files = [1.0: stage.url(0x336699, "100x50"), 2: stage.url(0x336699, "200x100")]
            picture.setImage(
                with: ImageVariants(url: files[1]!, densities: files),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(stage.widths, [100 * stage.scale])
            let image = try require(picture.currentImage)
            expectEqual(image.logicalWidth, 100)
        },

        Scenario("With a service, each widget loads from it what its pixels need, and again when it grows", .density) {
            // Given a server that scales, and an app that has set it in one line
            let scaling = try LocalImageServer { request in
                let width = request.path.split(separator: "/").first.flatMap { Int($0) } ?? 1
                let image = TestImage.solid(0x336699, size: PixelSize(width: width, height: width / 2))
                return .ok(image, contentType: "image/png")
            }
            let asked = { scaling.requests.compactMap { $0.path.split(separator: "/").first.flatMap { Int($0) } } }
            var service = try ImageService.template("\(scaling.baseURL.absoluteString)/{width}/{url}")
            service.widths = [100, 200, 400, 800]
            let stage = try Stage(configure: { $0.imageService = service })
            let (picture, small) = (stage.addImage(width: 100, height: 50), stage.addImage(width: 90, height: 45))
            stage.present()
            // When a widget shows an image of another server
            let url = stage.url(0x336699, "1600x800")
            picture.setImage(with: url, completion: stage.completion)
            stage.waitForResults(1)
            // Then it comes from the service, for the pixels of the widget
            expectEqual(asked(), [100 * stage.scale])
            expectEqual(stage.server.requests.count, 0)
            // And wants the same room in a layout on every screen
            let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
            expectEqual(gdk_paintable_get_intrinsic_width(paintable), 100)
            // When another one is a little smaller, then nothing is loaded
            small.setImage(with: url)
            expectEqual(small.currentImage?.pixelSize.width, 100 * stage.scale)
            // When the widget grows, then the service is asked again
            gtk_widget_set_size_request(picture.widget, 400, 200)
            let isSharp = MainLoopPump.run(until: { picture.currentImage?.pixelSize.width == 400 * stage.scale })
            expect(isSharp, "\(asked())")
            expectEqual(asked().last, 400 * stage.scale, "\(asked())")
        },
    ]
}
