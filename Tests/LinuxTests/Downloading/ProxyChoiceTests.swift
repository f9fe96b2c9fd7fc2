import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageLinux

@Suite("The proxy of a URL")
struct ProxyChoiceTests {
    private let plain = URL(string: "http://images.example/a.png")!
    private let secure = URL(string: "https://images.example/a.png")!

    @Test("Proxies of the environment have names of their own, so that the credential of one never reaches another")
    func names() {
        let variables = ["http_proxy": "u:p@one.example:8080", "https_proxy": "http://two.example:8080"]
        let choice = ProxyChoice.environment
        #expect(choice.name(for: plain) { variables[$0] } == "http://one.example:8080/")
        #expect(choice.name(for: secure) { variables[$0] } == "http://two.example:8080/")
        // The same proxy has the same name, wherever it is set.
        let fixed = ProxyChoice.proxy("http://x:y@one.example:8080")
        #expect(fixed.name(for: plain) { _ in nil } == "http://one.example:8080/")
        // CGI programs get a header field of their request as HTTP_PROXY.
        #expect(choice.address(for: plain) { ["HTTP_PROXY": "evil.example"][$0] } == nil)
        #expect(
            choice.address(for: secure) { ["https_proxy": "", "ALL_PROXY": "three.example"][$0] } == "three.example"
        )
        #expect(ProxyChoice.direct.address(for: plain) { variables[$0] } == nil)
    }

    @Test(
        "Hosts that no_proxy names have none",
        arguments: [
            ("*", true), ("images.example", true), (".example", true), ("other.example, IMAGES.EXAMPLE.", true),
            ("a.example images.example", true), ("", false), ("mages.example", false), ("10.0.0.0/8", false),
            ("images.example.org", false), (".", false), (",,", false),
        ]
    )
    func exceptions(names: String, isExcepted: Bool) {
        let variables = ["http_proxy": "one.example", "no_proxy": names]
        #expect((ProxyChoice.environment.address(for: plain) { variables[$0] } == nil) == isExcepted)
        #expect((ProxyChoice.proxy("http://p.example").address(for: plain) { variables[$0] } == nil) == isExcepted)
        // The proxy that the app has set is for all hosts.
        #expect(ProxyChoice.fixed("http://p.example").address(for: plain) { variables[$0] } == "http://p.example")
    }

    @Test("An address that a range of no_proxy may contain has none, nor has one in brackets that it names")
    func ranges() throws {
        let variables = ["http_proxy": "one.example", "no_proxy": "10.0.0.0/8,[::1]"]
        for text in ["http://10.1.2.3/", "http://[::1]/"] {
            #expect(ProxyChoice.environment.address(for: try #require(URL(string: text))) { variables[$0] } == nil)
        }
    }

    @Test("Only a proxy that reads the request can ask for a credential in its response")
    func reading() {
        #expect(ProxyChoice.proxy("http://p.example").answersRequests(for: plain))
        #expect(!ProxyChoice.proxy("http://p.example").answersRequests(for: secure))
        #expect(!ProxyChoice.proxy("SOCKS5h://p.example").answersRequests(for: plain))
        #expect(!ProxyChoice.direct.answersRequests(for: plain))
    }
}
