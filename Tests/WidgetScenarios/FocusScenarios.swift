internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageTesting

/// Answers /wide with thirds in red, green and blue beside each other, and /tall with thirds below each other.
private func thirds(_ request: ServerRequest) -> ServerResponse {
    .ok(thirds(isWide: request.path == "/wide"), contentType: "image/png")
}

private func thirds(isWide: Bool) -> Data {
    let size = isWide ? PixelSize(width: 300, height: 100) : PixelSize(width: 100, height: 300)
    return TestImage.make(size: size) { x, y in [0xFF0000, 0x00FF00, 0x0000FF][(isWide ? x : y) / 100] }
}

private let edges: [(ImagePoint, UInt32)] = [
    (.topLeft, 0xFF0000), (.center, 0x00FF00), (.bottomRight, 0x0000FF), (ImagePoint(x: -1, y: -7), 0xFF0000),
    (ImagePoint(x: .nan, y: .nan), 0x00FF00), (ImagePoint(x: .infinity, y: .infinity), 0x0000FF),
]

extension Scenario {
    static let focus: [Scenario] = [
        Scenario(
            "An image that covers its widget keeps its focus in view, at the edges without a gap",
            .drawing,
            .density
        ) {
            let stage = try Stage(thirds)
            let picture = stage.addImage()
            picture.contentFit = .cover
            constrain(picture, width: 99, height: 99, in: stage)
            stage.present()
            for path in ["/wide", "/tall"] {
                for (focus, color) in edges {
                    let count = stage.results.count
                    picture.setImage(
                        with: stage.server.url(path),
                        options: BindingOptions(focus: focus),
                        completion: stage.completion
                    )
                    stage.waitForResults(count + 1)
                    stage.waitForFrame()
                    let drawn = try require(rendered(picture.widget))
                    for (x, y) in [(0.02, 0.02), (0.5, 0.5), (0.98, 0.98)] {
                        expectEqual(drawn.color(x, y), color, "\(path) at \(x), \(y) with \(focus)")
                    }
                }
            }
            // One transfer and one decode each: the focus is no part of the image.
            expectEqual(stage.server.requests.count, 2)
        },

        Scenario("A focus within the image is in the middle of its widget") {
            let stage = try Stage(thirds)
            let picture = stage.addImage()
            picture.contentFit = .cover
            constrain(picture, width: 100, height: 100, in: stage)
            stage.present()
            // The border of two colours is in the middle.
            let options = BindingOptions(focus: ImagePoint(x: 1.0 / 3, y: 0.5))
            picture.setImage(
                with: stage.server.url("/wide"),
                options: options,
                completion: stage.completion
            )
            stage.waitForResults(1)
            stage.waitForFrame()
            let drawn = try require(rendered(picture.widget))
            expectEqual([drawn.color(0.45, 0.5), drawn.color(0.55, 0.5)], [0xFF0000, 0x00FF00])
        },

        Scenario("A focus changes nothing where the whole image is shown") {
            let stage = try Stage(thirds)
            let picture = stage.addImage()
            constrain(picture, width: 150, height: 50, in: stage)
            stage.present()
            for fit in [ImageContentFit.contain, .stretch, .scaleDown] {
                picture.contentFit = fit
                let count = stage.results.count
                picture.setImage(
                    with: stage.server.url("/wide"),
                    options: BindingOptions(focus: .topLeft),
                    completion: stage.completion
                )
                stage.waitForResults(count + 1)
                stage.waitForFrame()
                let drawn = try require(rendered(picture.widget))
                expectEqual(
                    [drawn.color(0.1, 0.5), drawn.color(0.5, 0.5), drawn.color(0.9, 0.5)],
                    [0xFF0000, 0x00FF00, 0x0000FF],
                    "\(fit)"
                )
            }
        },

        Scenario("The background of a button and an image of the app have a focus, too", .drawing) {
            let stage = try Stage(thirds)
            let button = Button()
            gtk_widget_set_size_request(button.widget, 100, 100)
            gtk_widget_set_halign(button.widget, GTK_ALIGN_CENTER)
            stage.append(button.widget)
            let picture = stage.addImage()
            picture.contentFit = .cover
            constrain(picture, width: 100, height: 100, in: stage)
            stage.present()
            button.setBackgroundImage(
                with: stage.server.url("/wide"),
                options: BindingOptions(focus: .right),
                completion: stage.completion
            )
            stage.waitForResults(1)
            let image = try WebImage(data: thirds(isWide: false))
            picture.setImage(image, focus: .bottom)
            stage.waitForFrame()
            expectEqual(try require(rendered(button.widget)).color(0.5, 0.5), 0x0000FF, "button")
            expectEqual(try require(rendered(picture.widget)).color(0.5, 0.5), 0x0000FF, "image of the app")
        },

        Scenario("In a transition each image keeps its own focus and its own shape", .drawing) {
            // Given a wide image around a point in its left third, so that a quarter of what is seen is green
            let stage = try Stage(thirds)
            let picture = stage.addImage()
            picture.contentFit = .cover
            constrain(picture, width: 100, height: 100, in: stage)
            stage.present()
            picture.setImage(
                with: stage.server.url("/wide"),
                options: BindingOptions(focus: ImagePoint(x: 0.25, y: 0.5)),
                completion: stage.completion
            )
            stage.waitForResults(1)
            // When a tall one follows, of which the middle is in view, which is green
            picture.imageTransition = ImageTransition(
                ImageTransition.crossfade().effect,
                duration: .seconds(600),
                easing: ImageEasing { $0 < 1 ? 0.5 : 1 }
            )
            picture.setImage(
                with: stage.server.url("/tall"),
                options: BindingOptions(whileLoading: .currentImage),
                completion: stage.completion
            )
            stage.waitForResults(2)
            stage.waitForFrame()
            stage.waitForFrame()
            // Then both are seen where they were and will be
            let drawn = try require(rendered(picture.widget))
            for (x, y, expected) in [(0.05, 0.05, 0x7F7F00), (0.65, 0.95, 0x7F7F00), (0.9, 0.5, 0x00FF00)] {
                let color = drawn.color(x, y)
                expect(isNear(color, UInt32(expected)), "\(String(color, radix: 16)) at \(x), \(y)")
            }
        },
    ]
}
