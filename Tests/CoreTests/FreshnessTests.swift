import FoundationEssentials
import Testing

@testable import WebImageCore

@Suite("Freshness of stored responses (RFC 9111)")
struct FreshnessTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// Makes the metadata of a response that arrived at the start.
    private func metadata(_ cacheControl: String?, _ change: (inout ResponseMetadata) -> Void = { _ in })
        -> ResponseMetadata
    {
        var metadata = ResponseMetadata()
        metadata.cacheControl = cacheControl
        metadata.etag = "\"1\""
        metadata.date = Self.start
        metadata.requestTime = Self.start
        metadata.responseTime = Self.start
        change(&metadata)
        return metadata
    }

    private func reuse(
        _ metadata: ResponseMetadata,
        after seconds: Double,
        _ policy: ImageRequest.CachePolicy = .standard,
        headers: [String: String] = [:]
    ) -> StoredResponseUse {
        policy.use(of: metadata, headers: headers, now: Self.start.addingTimeInterval(seconds))
    }

    @Test(
        "The header fields of the server decide the freshness lifetime",
        arguments: [
            ("max-age=60", 59.0, StoredResponseUse.use), ("max-age=60", 60.0, .validate),
            ("MAX-AGE = 60 , public", 59.0, .use),
            ("max-age=\"60\"", 59.0, .use), ("max-age=x", 0.0, .validate), ("max-age=60, max-age=1", 30.0, .use),
            ("max-age=99999999999999999999", 1e9, .use), ("no-cache", 0.0, .validate),
            ("private, max-age=60", 1.0, .use),
            ("no-cache=\"set-cookie, x\", max-age=60", 1.0, .use), ("public", 1e9, .use), ("", 1e9, .use),
            ("max-age=60, stale-while-revalidate=30", 61.0, .useAndRefresh),
            ("max-age=60, stale-while-revalidate=30", 91.0, .validate),
            ("max-age=60, stale-while-revalidate=30, must-revalidate", 61.0, .validate),
        ]
    )
    func directives(cacheControl: String, seconds: Double, expected: StoredResponseUse) {
        #expect(reuse(metadata(cacheControl), after: seconds) == expected)
    }

    @Test("The Age field and the response time count towards the age")
    func age() {
        let aged = metadata("max-age=60") { $0.age = 50 }
        #expect(reuse(aged, after: 9) == .use)
        #expect(reuse(aged, after: 10) == .validate)
        let slow = metadata("max-age=60") {
            $0.requestTime = Self.start.addingTimeInterval(-20); $0.age = 0
        }
        #expect(reuse(slow, after: 39) == .use)
        #expect(reuse(slow, after: 40) == .validate)
        let old = metadata("max-age=60") { $0.date = Self.start.addingTimeInterval(-30) }
        #expect(reuse(old, after: 30) == .validate)
    }

    @Test("Setting the clock back by hours makes a response neither younger nor older")
    func clockSetBack() {
        #expect(reuse(metadata("max-age=60"), after: -1000) == .use)
        #expect(reuse(metadata("max-age=60") { $0.age = 60 }, after: -1000) == .validate)
    }

    @Test("A response from next year is asked for again, and serves offline")
    func future() {
        // A clock that was a year ahead would leave it fresh for a year.
        #expect(reuse(metadata("max-age=60"), after: -365 * 86_400) == .validate)
        let offline = ImageError(.hostNotFound, url: nil, reason: "", remedy: "")
        let stored = Freshness(metadata("max-age=60"), now: Self.start.addingTimeInterval(-365 * 86_400))
        #expect(stored.isUsable(despite: offline) && stored.remaining < 0)
        // A response without a lifetime is limited by the cache alone.
        #expect(reuse(metadata(nil), after: -365 * 86_400) == .use)
    }

    @Test("Expires counts from Date, and max-age takes precedence")
    func expires() {
        let expiring = metadata(nil) { $0.expires = Self.start.addingTimeInterval(100) }
        #expect(reuse(expiring, after: 99) == .use)
        #expect(reuse(expiring, after: 100) == .validate)
        let both = metadata("max-age=10") { $0.expires = Self.start.addingTimeInterval(100) }
        #expect(reuse(both, after: 50) == .validate)
        // Expires: 0
        #expect(reuse(metadata(nil) { $0.expires = .distantPast }, after: 0) == .validate)
    }

    @Test("A response with Last-Modified alone is fresh for a tenth of its age")
    func heuristic() {
        let changed = metadata(nil) { $0.lastModifiedDate = Self.start.addingTimeInterval(-1000) }
        #expect(reuse(changed, after: 99) == .use)
        #expect(reuse(changed, after: 100) == .validate)
        // At most for a week, also when the date is that of all files, as on NixOS.
        for date in [Date(timeIntervalSince1970: 1), Self.start.addingTimeInterval(-1e9)] {
            let old = metadata(nil) { $0.lastModifiedDate = date }
            #expect(reuse(old, after: 7 * 86_400 - 1) == .use)
            #expect(reuse(old, after: 7 * 86_400) == .validate)
        }
    }

    @Test("A response with Vary answers only requests with the same header fields")
    func vary() {
        let varying = metadata("max-age=60") { $0.vary = ["accept": "image/*", "x-theme": ""] }
        #expect(reuse(varying, after: 1, headers: ["Accept": "image/*"]) == .use)
        #expect(reuse(varying, after: 1, headers: ["Accept": "image/webp"]) == .ignore)
        #expect(reuse(varying, after: 1, headers: ["Accept": "image/*", "X-Theme": "dark"]) == .ignore)
        #expect(reuse(metadata("max-age=60") { $0.vary = ["*": ""] }, after: 1) == .ignore)
    }

    @Test("What the caches keep of a field that Vary names does not tell its value")
    func varyingSecret() {
        let texts = (0..<2).map { _ in VaryingField.text(for: "Bearer secret") }
        #expect(texts[0] != texts[1] && texts.allSatisfy { !$0.contains("secret") && $0.count > 40 })
        for text in texts {
            let varying = metadata("max-age=60") { $0.vary = ["authorization": text] }
            for policy in [ImageRequest.CachePolicy.standard, .cachedOnly, .cachedElseLoad] {
                #expect(reuse(varying, after: 1, policy, headers: ["Authorization": "Bearer secret"]) == .use)
                #expect(reuse(varying, after: 1, policy, headers: ["Authorization": "Bearer other"]) == .ignore)
                #expect(reuse(varying, after: 1, policy) == .ignore)
            }
        }
    }

    @Test("Options override freshness: use at any age, always revalidate, never ask the server")
    func options() {
        #expect(reuse(metadata("max-age=60"), after: 1e6, .cachedElseLoad) == .use)
        #expect(reuse(metadata("max-age=60"), after: 1, .refresh) == .validate)
        #expect(reuse(metadata("max-age=60, immutable"), after: 1, .refresh) == .use)
        #expect(reuse(metadata("max-age=60, immutable"), after: 61, .refresh) == .validate)
        #expect(reuse(metadata("no-cache"), after: 1, .cachedOnly) == .use)
    }

    @Test("A stale response is used when the server fails, unless the server forbids it")
    func staleIfError() {
        func serves(_ cacheControl: String, after seconds: Double, _ code: ImageError.Code, status: Int? = nil) -> Bool
        {
            let head = status.map { ResponseHead(url: URL(filePath: "/"), status: $0) }
            let error = ImageError(code, url: nil, reason: "", remedy: "", head: head)
            let now = Self.start.addingTimeInterval(seconds)
            return Freshness(metadata(cacheControl), now: now).isUsable(despite: error)
        }
        #expect(serves("max-age=60", after: 1e6, .connectionFailed))
        #expect(serves("max-age=60", after: 1e6, .badStatus, status: 503))
        #expect(!serves("max-age=60", after: 61, .badStatus, status: 404))
        #expect(!serves("max-age=60, must-revalidate", after: 61, .connectionFailed))
        #expect(serves("max-age=60, must-revalidate", after: 59, .connectionFailed))
        #expect(!serves("no-cache", after: 1, .timedOut))
        #expect(serves("max-age=60, stale-if-error=100", after: 159, .offline))
        #expect(!serves("max-age=60, stale-if-error=100", after: 161, .offline))
    }

    @Test("A 304 response updates the stored fields and restarts the freshness lifetime")
    func renewal() {
        let old = metadata("max-age=60") {
            $0.contentType = "image/png"; $0.age = 5
        }
        var newer = ResponseMetadata()
        newer.cacheControl = "max-age=1000"
        newer.responseTime = Self.start.addingTimeInterval(500)
        let renewed = old.renewed(by: newer)
        #expect(renewed.contentType == "image/png" && renewed.etag == "\"1\"" && renewed.age == nil)
        #expect(reuse(renewed, after: 1499) == .use)
        #expect(reuse(renewed, after: 1500) == .validate)
    }
}
