internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Synchronization
import WebImageTesting

/// Counts its calls, and loads from another URL where it is told to.
private final class Redirector: ImageIntercepting {
    private let state = Mutex<(count: Int, target: URL?)>((0, nil))

    var count: Int { state.withLock { $0.count } }

    func redirect(to url: URL) { state.withLock { $0.target = url } }

    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
        let target = state.withLock { state in
            state.count += 1
            return state.target
        }
        // A new request knows nothing of the widget.
        return try await chain.proceed(with: target.map { ImageRequest(url: $0) } ?? chain.request)
    }
}

/// Never answers.
private struct Hanging: ImageIntercepting {
    func intercept(_ chain: InterceptorChain) async throws(ImageError) -> ImageResponse {
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        return try await chain.proceed()
    }
}

extension Scenario {
    static let interceptors: [Scenario] = [
        Scenario("With interceptors a memory hit is shown before the call returns") {
            let interceptor = Redirector()
            let stage = try Stage(Stage.answer) { $0.interceptors = [interceptor] }
            let pictures = [stage.addImage(), stage.addImage()]
            stage.present()
            let url = stage.url(0x336699)
            pictures[0].setImage(with: url, completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(interceptor.count, 1)
            // When another widget shows it
            pictures[1].setImage(with: url, completion: stage.completion)
            expectEqual(stage.results.count, 2)
            expectEqual(stage.results[1].source, .memory)
            expect(pictures[1].currentImage?.color == 0x336699)
            expectEqual(interceptor.count, 1)
        },

        Scenario("What an interceptor loads instead has the size of the widget, and its progress is seen", .density) {
            let interceptor = Redirector()
            let stage = try Stage(Stage.answer) { $0.interceptors = [interceptor] }
            let picture = stage.addImage()
            constrain(picture, width: 100, height: 75, in: stage)
            stage.present()
            interceptor.redirect(to: stage.url(0x00FF00, "800x600"))
            var received: Int64 = 0
            picture.setImage(
                with: stage.url(0xFF0000, "800x600"),
                progress: { count, _ in received = count },
                completion: stage.completion
            )
            stage.waitForResults(1)
            let scale = Int(gtk_widget_get_scale_factor(picture.widget))
            let image = try stage.results[0].get().image
            expectEqual(image.pixelSize, PixelSize(width: 100 * scale, height: 75 * scale))
            expectEqual(image.color, 0x00FF00)
            expect(received > 0)
            expectEqual(picture.imageBinding.request?.url, stage.url(0xFF0000, "800x600"))
            expectEqual(stage.server.requests.map(\.path), ["/00ff00/800x600.png"])
        },

        Scenario("A widget goes on to its next image although an interceptor hangs, and so does one that goes away") {
            let stage = try Stage(Stage.answer) { $0.interceptors = [Hanging()] }
            let picture = stage.addImage()
            stage.present()
            for color in [0x111111, 0x222222] as [UInt32] {
                picture.setImage(with: stage.url(color), completion: stage.completion)
                expect(stage.waitForFrame())
            }
            stage.waitForResults(1)
            expectEqual(stage.results[0].errorCode, .cancelled)
            stage.remove(picture.widget)
            stage.waitForResults(2)
            expectEqual(stage.results[1].errorCode, .cancelled)
            expect(stage.server.requests.isEmpty)
        },
    ]
}
