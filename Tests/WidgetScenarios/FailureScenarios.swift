internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import TestSupport
import WebImageFormats
import WebImageLinux
import WebImageTesting

extension Scenario {
    /// Faults of a server, each with the error that the app gets.
    private static let mistakes: [(name: String, code: ImageError.Code, answer: @Sendable () -> ServerResponse)] = [
        ("a 404", .badStatus, { .notFound }),
        ("a 500", .badStatus, { .status(500) }),
        ("an empty body", .transferIncomplete, { .ok(Data(), contentType: "image/png") }),
        (
            "an HTML page with an image's name", .badImageData,
            { .ok(Data("<!DOCTYPE html><html><body>Sorry</body></html>".utf8), contentType: "text/html") }
        ),
        (
            "a truncated JPEG", .badImageData,
            {
                let file = TestImage.solid(1, size: PixelSize(width: 90, height: 90), format: .jpeg)
                return .ok(file.prefix(file.count - 40), contentType: "image/jpeg")
            }
        ),
        (
            "a truncated PNG", .badImageData,
            {
                let file = TestImage.quarters(size: PixelSize(width: 90, height: 90))
                return .ok(file.prefix(file.count / 2), contentType: "image/png")
            }
        ),
        ("a PNG of 60,000 x 60,000 pixels", .imageTooLarge, { .ok(bombPNG, contentType: "image/png") }),
        (
            "a body that ends before its length", .transferIncomplete,
            {
                var response = ServerResponse.ok(Data(count: 1000), contentType: "image/png")
                response.faults.closeAfterBytes = 500
                return response
            }
        ),
        (
            "a connection that is reset", .transferIncomplete,
            {
                var response = ServerResponse.ok(Data(count: 100_000), contentType: "image/png")
                response.faults.resetAfterBytes = 500
                return response
            }
        ),
        ("a redirect to a file", .badRedirect, { .redirect(to: "file:///etc/hostname") }),
        ("a redirect to itself", .badRedirect, { .redirect(to: "/wrong") }),
    ]

    static let failures: [Scenario] =
        mistakes.map { mistake in
            Scenario(
                "A load of \(mistake.name) fails with its own error; the placeholder stays, and the next image loads"
            ) {
                let stage = try Stage { request in
                    request.path == "/wrong" ? mistake.answer() : Stage.answer(request)
                }
                try check(stage, stage.server.url("/wrong"), mistake.code)
            }
        } + [
            Scenario(
                "A load from a closed port fails with its own error; the placeholder stays, and the next image loads"
            ) {
                let stage = try Stage()
                let closed = try ClosedPort()
                try check(stage, closed.url("/wrong"), .connectionFailed)
                withExtendedLifetime(closed) {}
            },
            Scenario(
                "A load whose decoder is a process that does not start fails with a remedy, and the next image loads"
            ) {
                guard PixbufCoder().decodesElsewhere(.svg) else {
                    throw Skipped(reason: "gdk-pixbuf decodes in this process, so that there is none to start")
                }
                // gdk-pixbuf writes PNG in another process, too.
                let png = TestImage.solid(0x336699, size: PixelSize(width: 64, height: 48))
                let svg = Data("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>".utf8)
                let answer: @Sendable (ServerRequest) -> ServerResponse = { request in
                    request.path == "/wrong"
                        ? .ok(svg, contentType: "image/svg+xml") : .ok(png, contentType: "image/png")
                }
                let stage = try Stage(answer, formats: [.svg, .png])
                // bwrap is not found.
                setenv("PATH", "/nowhere", 1)
                try check(stage, stage.server.url("/wrong"), .decoderUnavailable, decoder: PixbufCoder())
                guard case .failure(let error) = stage.results[0] else { return }
                expect(error.reason.contains("SVG") && error.remedy.contains("bubblewrap"), "\(error)")
            },
        ]

    @MainActor
    private static func check(
        _ stage: Stage,
        _ url: URL,
        _ code: ImageError.Code,
        decoder: (any ImageDecoding)? = nil
    ) throws {
        var request = ImageRequest(url: url)
        request.decoder = decoder
        let picture = stage.addImage()
        stage.present()
        picture.setImage(
            with: request,
            placeholder: .icon("image-missing-symbolic"),
            completion: stage.completion
        )
        stage.waitForResults(1)
        guard case .failure(let error) = stage.results[0] else {
            return expect(false, "it succeeded")
        }
        expectEqual(error.code, code, "\(error)")
        expectEqual(error.url, url)
        expect(!error.reason.isEmpty && !error.remedy.isEmpty, "\(error)")
        expect(picture.currentImage == nil)
        let paintable = try require(gtk_picture_get_paintable(picture.widget.opaque))
        expectEqual(gdk_paintable_get_intrinsic_width(paintable), 32, "the placeholder")
        // A second request for the URL loads again, and another URL succeeds.
        picture.setImage(with: request, completion: stage.completion)
        picture.setImage(with: stage.url(0x336699), completion: stage.completion)
        stage.waitForResults(3)
        expectEqual(picture.currentImage?.color, 0x336699)
        stage.waitUntilIdle()
    }

    /// The header of a PNG that would take 10.8 GB, without any pixels.
    private static let bombPNG = Data(
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + [0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60, 8, 2, 0, 0, 0, 0xB5, 0x15, 0x02, 0x3F]
            + [0, 0, 0, 12] + Array("IDAT".utf8) + [UInt8](repeating: 0, count: 16)
    )
}
