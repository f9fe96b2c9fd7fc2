import Testing
import WebImageCore

@Suite("Alt-Svc fields (RFC 7838)")
struct AlternativeServiceTests {
    @Test(
        "The endpoint of HTTP/3 is read from a field",
        arguments: [
            ("h3=\":443\"", AlternativeService(port: 443)),
            ("h3=\":443\"; ma=2592000,h3-29=\":443\"; ma=10", AlternativeService(port: 443, maximumAge: 2_592_000)),
            (
                "h2=\":8000\" , h3 = \"alt.example.org:8443\" ; persist=1 ; ma = 60",
                .init(host: "alt.example.org", port: 8443, maximumAge: 60)
            ),
            ("h3=\"[2001:db8::1]:443\"", AlternativeService(host: "[2001:db8::1]", port: 443)),
            ("h3=:443", AlternativeService(port: 443)),
            // Two fields that were joined
            ("h2=\":443\"; ma=60, h3=\":443\"; ma=60", AlternativeService(port: 443, maximumAge: 60)),
            ("h3=\":443\"; x=\"a,b;c\"; ma=5, h3=\":444\"", AlternativeService(port: 443, maximumAge: 5)),
        ]
    )
    func read(field: String, service: AlternativeService) {
        #expect(AlternativeService.offer(in: field) == .service(service))
    }

    @Test(
        "A field that withdraws offers, names no HTTP/3 or is damaged offers nothing",
        arguments: [
            "clear", "h3=\":443\", clear", "", ",", ";", "=", "h2=\":443\"", "h3-29=\":443\"", "h3", "h3=",
            "h3=\"443\"", "h3=\":0\"",
            "h3=\":65536\"", "h3=\":-1\"", "h3=\"evil:1:2:443\"", "h3=\"a b:443\"", "h3=\"a\u{0}:443\"", "h3=\"::443\"",
            "h3=\"", "\"h3=\":443",
        ]
    )
    func nothing(field: String) {
        #expect(AlternativeService.offer(in: field) == .none)
    }

    @Test("A damaged age leaves that of the RFC, a day")
    func ages() {
        for age in ["-1", "x", "99999999999999999999", ""] {
            #expect(
                AlternativeService.offer(in: "h3=\":443\"; ma=\(age)") == .service(.init(port: 443, maximumAge: 86_400))
            )
        }
        #expect(AlternativeService.offer(in: "h3=\":443\"; ma=0") == .service(.init(port: 443, maximumAge: 0)))
    }
}
