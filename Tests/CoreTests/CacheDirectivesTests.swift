import Testing

@testable import WebImageCore

@Suite("The directives of Cache-Control")
struct CacheDirectivesTests {
    @Test(
        "A lifetime is a number of seconds; what is none is zero, and the first one counts",
        arguments: [
            ("max-age=60", 60), ("MAX-AGE = 60", 60), ("max-age=\"60\"", 60), ("public,\tmax-age=60 ,immutable", 60),
            ("max-age=60, max-age=70", 60), ("max-age=99999999999999999999999", 2_147_483_648), ("max-age=1.5", 0),
            ("max-age=-1", 0), ("max-age=", 0), ("max-age", 0), ("max-age=6٠", 0), ("max-age=1=2", 0), ("", nil),
            (",,", nil), ("=5", nil), ("xmax-age=5", nil), ("private=\"a, max-age=5\"", nil),
            ("private=\"max-age=5", nil),
        ] as [(String, Double?)]
    )
    func lifetime(field: String, seconds: Double?) {
        #expect(CacheDirectives(field).maxAge == seconds)
    }

    @Test("Every directive is found, in any case and between others")
    func all() {
        let directives = CacheDirectives(
            "No-Store, no-cache , MUST-REVALIDATE,immutable,stale-while-revalidate=5, stale-if-error=\"7\""
        )
        #expect(directives.isNoStore && directives.isNoCache && directives.mustRevalidate && directives.isImmutable)
        #expect(directives.staleWhileRevalidate == 5 && directives.staleIfError == 7 && directives.maxAge == nil)
        #expect(CacheDirectives(nil) == CacheDirectives(""))
        // One that names fields concerns those only.
        #expect(!CacheDirectives("no-cache=\"set-cookie, date\"").isNoCache)
    }
}
