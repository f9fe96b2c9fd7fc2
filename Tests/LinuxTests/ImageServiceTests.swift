import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@testable import WebImageServices

@Suite("Services that scale images")
struct ImageServiceTests {
    private static let server = URL(string: "http://imgproxy.example.com")!
    private static let photo = URL(string: "http://example.com/images/curiosity.jpg")!

    /// The path that a manager with a service asks for to show an image in a box.
    private static func path(_ service: ImageService, _ url: URL = photo, width: Int? = 300) -> String {
        let loader = FakeLoader()
        let manager = ImageManager.testing(loader) { $0.imageService = service }
        var request = ImageRequest(url: url)
        request.decodeSize = width.map { .stretch(PixelSize(width: $0, height: $0)) }
        let task = manager.load(request, on: InlineDispatcher()) { _ in }
        task.cancel()
        return String(task.request.url.absoluteString.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" })
    }

    private func base64(_ text: String) -> String { Array(text.utf8).base64ForURLs(isPadded: false) }

    @Test("Signatures are those of the examples in the documents of imgproxy, Thumbor and Cloudinary")
    func documentedExamples() {
        // docs.imgproxy.net/usage/signing_url: the key `secret` and the salt `hello`
        let path = "/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png"
        let code = Signature.code(of: Array("hello\(path)".utf8), key: Array("secret".utf8), .sha256)
        #expect(code.base64ForURLs(isPadded: false) == "oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8")
        // thumbor.readthedocs.io/en/latest/libraries.html: "Library Tests - Scenarios", 1
        let image = "300x200/my.server.com/some/path/to/image.jpg"
        let keyed = Signature.code(of: Array(image.utf8), key: Array("my-security-key".utf8), .sha1)
        #expect(keyed.base64ForURLs(isPadded: true) == "8ammJH8D-7tXy6kU3lTvoXlhu4o=")
        // The tests of Cloudinary's libraries, with the secret `b`
        let hash = Signature.hash(of: Array("c_crop,h_20,w_10/image.jpgb".utf8), .sha1)
        #expect(hash.base64ForURLs(isPadded: false).prefix(8) == "Ai4Znfl3")
    }

    @Test("imgproxy is asked for a width, a shape, or the image as it is, and its options follow")
    func imgproxy() throws {
        let source = base64(Self.photo.absoluteString)
        var service = try ImageService.imgproxy(at: Self.server)
        #expect(Self.path(service) == "/insecure/rs:fit:384:0/\(source)")
        #expect(Self.path(service, width: nil) == "/insecure/\(source)")
        service.aspectRatio = 1.5
        #expect(Self.path(service) == "/insecure/rs:fill:384:256/g:sm/\(source)")
        let plain = try ImageService.imgproxy(at: Self.server, options: ["dpr:2", "q:80"], sourceEncoding: .plain)
        let odd = URL(string: "http://example.com/a%20b@2x.jpg?c=d&e=%2F")!
        let expected = "/insecure/rs:fit:384:0/dpr:2/q:80/plain/http://example.com/a%2520b%402x.jpg%3Fc%3Dd%26e%3D%252F"
        #expect(Self.path(plain, odd) == expected)
    }

    @Test("URLs of imgproxy are signed with its key and salt, behind its path prefix")
    func signedImgproxy() throws {
        // The key and the salt of the examples of imgproxy in many languages
        let service = try ImageService.imgproxy(
            at: URL(string: "http://imgproxy.example.com/images/")!,
            key: "943b421c9eb07c830af81030552c86009268de4e532ba2ee2eab8247c6da0881",
            salt: "520f986b998545b4785e0defbc4f3c1203f22de2374a3d53cb7a7fe9fea309c5"
        )
        let path = "/rs:fit:384:0/\(base64(Self.photo.absoluteString))"
        // Computed with the module hmac of Python
        #expect(Self.path(service) == "/images/lGGsFoYmbsq7tGHE2bEJD708YmUcqj-rnUj5N7lC2xg\(path)")
    }

    @Test(
        "A key or salt of imgproxy that is no hexadecimal number is refused",
        arguments: ["secret", "abc", "0x12", "é0"]
    )
    func wrongKeys(_ text: String) {
        let wrong = thrownError { try ImageService.imgproxy(at: Self.server, key: text, salt: "ab") }
        #expect(wrong?.code == .invalidRequest)
        let error = thrownError { try ImageService.imgproxy(at: Self.server, key: "ab", salt: text) }
        #expect(error?.description.contains("IMGPROXY_SALT") == true)
    }

    @Test("A key of imgproxy without its salt is refused, and so is the reverse")
    func halfKeys() {
        for (key, salt) in [("ab", nil), (nil, "ab")] as [(String?, String?)] {
            let error = thrownError { try ImageService.imgproxy(at: Self.server, key: key, salt: salt) }
            #expect(error?.code == .invalidRequest && error?.remedy.contains("IMGPROXY_SALT") == true)
        }
    }

    @Test("Thumbor fits an image into a width, or cuts it to a shape")
    func thumbor() {
        let source = "http%3A//example.com/images/curiosity.jpg"
        var service = ImageService.thumbor(at: Self.server, filters: ["quality(80)", "format(webp)"])
        let filters = "filters:quality(80):format(webp)"
        #expect(Self.path(service) == "/unsafe/fit-in/384x6144/\(filters)/\(source)")
        #expect(Self.path(service, width: nil) == "/unsafe/\(filters)/\(source)")
        service.aspectRatio = 2
        #expect(Self.path(service) == "/unsafe/384x192/smart/\(filters)/\(source)")
    }

    @Test(
        "Cloudinary limits the width of an image that it fetches, or fills a shape, and signs with eight characters or more"
    )
    func cloudinary() {
        let cloud = URL(string: "https://res.cloudinary.com/demo")!
        let source = "http://example.com/images/curiosity.jpg"
        var service = ImageService.cloudinary(at: cloud, options: ["f_auto"])
        #expect(Self.path(service) == "/demo/image/fetch/c_limit,w_384,f_auto/\(source)")
        service.aspectRatio = 1
        #expect(Self.path(service) == "/demo/image/fetch/c_fill,g_auto,h_384,w_384,f_auto/\(source)")
        let image = URL(string: "http://google.com/path/to/image.png")!
        // The tests of Cloudinary's libraries: a fetch without transformations
        let signed = ImageService.cloudinary(at: cloud, secret: "b")
        #expect(Self.path(signed, image, width: nil) == "/demo/image/fetch/s--hH_YcbiS--/\(image.absoluteString)")
        let long = ImageService.cloudinary(at: cloud, secret: "b", isLongSignature: true)
        #expect(Self.path(long, image, width: nil).split(separator: "/")[3].count == 32 + 5)
    }

    @Test("A template has the width, the height and the URL of the image, whatever that contains")
    func template() throws {
        let odd = URL(string: "http://example.com/%7Bwidth%7D?a=b&c=é")!
        var service = try ImageService.template("https://cdn.example.org/{width}x{height}/{url}")
        let source = "http%3A%2F%2Fexample.com%2F%257Bwidth%257D%3Fa%3Db%26c%3D%25C3%25A9"
        #expect(Self.path(service, odd) == "/384x0/\(source)")
        service.aspectRatio = 3
        #expect(Self.path(service, odd) == "/384x128/\(source)")
        // Without a size the image comes from its own URL.
        #expect(Self.path(service, width: nil) == "/images/curiosity.jpg")
        let plain = try ImageService.template("https://cdn.example.org/cdn-cgi/image/width={width}/{source}")
        #expect(Self.path(plain) == "/cdn-cgi/image/width=384/http://example.com/images/curiosity.jpg")
    }

    @Test("The URL of an image does not lead out of the folder of its service")
    func climbing() throws {
        let services = [
            ImageService.thumbor(at: Self.server, key: "key"), .cloudinary(at: Self.server, secret: "secret"),
            try .imgproxy(at: Self.server, sourceEncoding: .plain), try .imgproxy(at: Self.server),
            try .template("https://cdn.example.org/{width}/{source}"),
            try .template("https://cdn.example.org/{width}/{url}"),
        ]
        let up = String(repeating: "../", count: 12)
        let texts = ["\(up)a.png", "b/\(up)a.png", "a?/\(up)a.png", "%2e%2e/\(up)a.png", "a?b=\(up)a.png"]
        for text in texts {
            let url = try #require(URL(string: "http://evil.example/\(text)"))
            for service in services {
                let path = Self.path(service, url).prefix { $0 != "?" }
                // An image that would lead out comes from its own URL.
                let isOwn = path == url.path(percentEncoded: true)
                #expect(isOwn || path.contains("evil.example") || path.contains("/aHR0c"), "\(path)")
                #expect(isOwn || !path.contains("/../") && !path.contains("/%2e"), "\(path)")
            }
        }
        #expect(
            Self.path(services[4], URL(string: "http://evil.example/../c/./a.png")!)
                == "/384/http://evil.example/c/a.png"
        )
    }

    @Test(
        "A shape may be any number",
        arguments: [1e-300, .leastNonzeroMagnitude, 1e300, -1, 0, .nan, .infinity] as [Double]
    )
    func oddShapes(ratio: Double) throws {
        var service = try ImageService.template("https://host/{width}x{height}?{url}")
        service.aspectRatio = ratio
        #expect(Self.path(service).hasPrefix("/384x"))
    }

    @Test(
        "A template that makes no URLs is refused",
        arguments: ["", "{width}", "https://host/{url}", "https://host/{width}", "{url}{width}", "///{width}{url}"]
    )
    func wrongTemplates(_ text: String) {
        let error = thrownError { try ImageService.template(text) }
        #expect(error?.code == .invalidRequest, "\(text)")
        // The error names what is missing.
        #expect(error?.reason.contains("lacks {width}") == !text.contains("{width}"))
        #expect(error?.reason.contains("{url} or {source}") == !text.contains("{url}"))
    }

    @Test("The keys of the caches have nothing of the query of a template, but tell one from another")
    func queryOfTemplate() throws {
        let photo = URL(string: "http://example.com/a.jpg")!
        let keys = try ["token=secret", "token=other", ""].map { query in
            let service = try ImageService.template("https://cdn.example.org/{width}?\(query)&url={url}")
            let manager = ImageManager.testing(FakeLoader()) { $0.imageService = service }
            let key = manager.cacheKey(
                for: ImageRequest(url: photo, decodeSize: .contain(PixelSize(width: 9, height: 9)))
            )
            #expect(key.contains("cdn.example.org") && key.contains("example.com/a.jpg"), "\(key)")
            #expect(!key.contains("token") && !key.contains("secret"), "\(key)")
            return key
        }
        #expect(Set(keys).count == 3)
    }

    @Test("Widths are rounded up to steps, so that a widget that is resized makes few files")
    func steps() throws {
        let service = try ImageService.template("https://cdn.example.org/{width}/{url}")
        let paths = Set((1...4000).map { Self.path(service, width: $0) })
        #expect(paths.count == 17)
        var own = service
        own.widths = [500, -3, 0, 100, 500]
        #expect(Self.path(own, width: 90).hasPrefix("/100/"))
        #expect(Self.path(own, width: 101).hasPrefix("/500/"))
        own.widths = []
        #expect(Self.path(own, width: 101) == "/images/curiosity.jpg")
        for nonsense in [0, -1, Double.nan, .infinity, 1e-300] {
            own.aspectRatio = nonsense
            #expect(Self.path(own, width: 101) == "/images/curiosity.jpg")
        }
    }

    @Test("What the service is not for, or must not hear of, is loaded from its own URL")
    func exceptions() throws {
        let loader = FakeLoader()
        var service = try ImageService.template("https://cdn.example.org/{width}/{url}")
        let fallback = service.isApplied
        service.isApplied = { fallback($0) && $0.host() != "other.example.com" }
        let manager = ImageManager.testing(loader) { $0.imageService = service }
        func host(_ text: String, _ change: (inout ImageRequest) -> Void = { _ in }) -> String? {
            var request = ImageRequest(url: URL(string: text)!, decodeSize: .contain(PixelSize(width: 9, height: 9)))
            change(&request)
            let task = manager.load(request, on: InlineDispatcher()) { _ in }
            task.cancel()
            return task.request.url.host()
        }
        let photo = "http://example.com/a.jpg"
        #expect(host(photo) == "cdn.example.org")
        #expect(host("http://other.example.com/a.jpg") == "other.example.com")
        #expect(host("http://user:password@example.com/a.jpg") == "example.com")
        #expect(host("https://cdn.example.org/own.jpg") == "cdn.example.org")
        for server in ["https://cdn.example.org", "https://CDN.example.org:443", "http://cdn.example.org:80"] {
            let task = manager.load(URL(string: "\(server)/own.jpg")!, on: InlineDispatcher()) { _ in }
            #expect(task.request.url.path() == "/own.jpg")
        }
        #expect(host("file:///a.jpg") != "cdn.example.org")
        #expect(host("data:image/png;base64,AA==") != "cdn.example.org")
        #expect(host(photo) { $0.networkOptions.headers = ["Authorization": "secret"] } == "example.com")
        #expect(host(photo) { $0.networkOptions.credential = .init(user: "a", password: "b") } == "example.com")
        #expect(host(photo) { $0.loader = loader } == "example.com")
        let own = URL(string: "http://example.com/small.jpg")!
        #expect(host(photo) { $0.variants = ImageVariants(url: own, widths: [10: own]) } == "example.com")
        #expect(host(photo) { $0.networkOptions.idleTimeout = .seconds(1) } == "cdn.example.org")
    }

    @Test("A fallback URL goes through the service, too")
    func fallbacks() async throws {
        let loader = FakeLoader()
        let service = try ImageService.template("https://cdn.example.org/{width}/{url}")
        let manager = ImageManager.testing(loader) { $0.imageService = service }
        var request = ImageRequest(url: Self.photo, decodeSize: .contain(PixelSize(width: 60, height: 60)))
        request.fallbackURLs = [URL(string: "http://example.com/fallback.jpg")!]
        let image = TestImage.solid(1, size: PixelSize(width: 64, height: 64))
        loader.answer(URL(string: "https://cdn.example.org/64/http%3A%2F%2Fexample.com%2Ffallback.jpg")!, with: image)
        #expect(try await manager.image(for: request).naturalSize.width == 64)
    }

    @Test("The caches know an image by its own URL: another key finds it, another size or option does not, removal all")
    func caches() async throws {
        let (loader, folder) = (FakeLoader(), TemporaryDirectory())
        func manager(_ service: ImageService?) -> ImageManager {
            ImageManager.testing(loader) {
                $0.imageService = service
                $0.diskCache = .init(directory: folder.path)
            }
        }
        func load(_ manager: ImageManager, _ width: Int) async throws -> LoadSource {
            var request = ImageRequest(url: Self.photo, decodeSize: .stretch(PixelSize(width: width, height: width)))
            request.cacheAccess.awaitsWrites = true
            for step in [64, 128, 512] {
                // The path of every key and option
                for service in services {
                    let path = Self.path(service, width: step)
                    let image = TestImage.solid(UInt32(step), size: PixelSize(width: step, height: step))
                    loader.answer(URL(string: "\(Self.server.absoluteString)\(path)")!, with: image)
                }
            }
            return try await manager.response(for: request).source
        }
        let services: [ImageService] = [
            .thumbor(at: Self.server, key: "one"), .thumbor(at: Self.server, key: "two"),
            .thumbor(at: Self.server, key: "one", filters: ["grayscale()"]),
        ]
        // Given an image of 128 pixels on disk
        #expect(try await load(manager(services[0]), 128) == .loader)
        // Then it serves with another key, and for a smaller size
        #expect(try await load(manager(services[1]), 128) == .disk)
        #expect(try await load(manager(services[1]), 60) == .disk)
        // But not for a larger size, or with another look
        #expect(try await load(manager(services[1]), 500) == .loader)
        #expect(try await load(manager(services[2]), 128) == .loader)
        // When the image is removed by its URL, then no size is left
        let cleaned = manager(services[0])
        await cleaned.cache.remove(Self.photo)
        #expect(try await load(cleaned, 500) == .loader)
        #expect(try await load(manager(services[0]), 60) == .disk)
    }
}
