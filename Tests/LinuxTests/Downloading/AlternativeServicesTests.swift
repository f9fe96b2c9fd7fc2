import CWebImageCurl
import CWebImageShims
import FoundationEssentials
import Synchronization
import Testing
import WebImageCore

@testable import WebImageLinux

@Suite("The servers that offer HTTP/3")
struct AlternativeServicesTests {
    private final class Time: Sendable {
        // The module under test has a Mutex of its own under ThreadSanitizer.
        let now = Synchronization.Mutex(Date(timeIntervalSince1970: 1_800_000_000))

        func advance(_ seconds: Double) { now.withLock { $0 += seconds } }
    }

    private let time = Time()
    private let origin = AlternativeServices.Origin(URL(string: "https://Example.org/a")!)!
    private let service = AlternativeService(port: 8443, maximumAge: 1_000_000)

    /// The table as a reference, since an expectation cannot change a value.
    private final class Table {
        private var services: AlternativeServices

        init(_ time: Time) {
            services = AlternativeServices { time.now.withLock { $0 } }
        }

        var fileContents: String { services.fileContents }
        func endpoint(for origin: AlternativeServices.Origin) -> AlternativeService? { services.endpoint(for: origin) }
        func learn(_ offer: AlternativeService.Offer, of origin: AlternativeServices.Origin) -> Bool {
            services.learn(offer, of: origin)
        }
        func confirm(_ origin: AlternativeServices.Origin) { services.confirm(origin) }
        func setAside(_ origin: AlternativeServices.Origin) { services.setAside(origin) }
        func note(_ answer: AlternativeServices.Answer, of origin: AlternativeServices.Origin) -> Bool {
            services.note(answer, of: origin)
        }
        func abandonTrial(of origin: AlternativeServices.Origin) { services.abandonTrial(of: origin) }
        func read(_ contents: String) { services.read(contents) }
    }

    private func services() -> Table { Table(time) }

    @Test("One request tries the endpoint; the others follow once it has answered")
    func trial() {
        let services = services()
        #expect(services.endpoint(for: origin) == nil)
        #expect(services.learn(.service(service), of: origin))
        #expect(services.endpoint(for: origin) == service)
        #expect(services.endpoint(for: origin) == nil)
        services.confirm(origin)
        #expect(services.endpoint(for: origin) == service && services.endpoint(for: origin) == service)
    }

    @Test("An endpoint is not set aside for longer when the clock is set back")
    func clockSetBack() {
        let services = services()
        _ = services.learn(.service(service), of: origin)
        services.setAside(origin)
        time.advance(-86_400)
        #expect(services.endpoint(for: origin) == service)
    }

    @Test("A trial that was cancelled is made by the next request")
    func cancelled() {
        let services = services()
        _ = services.learn(.service(service), of: origin)
        _ = services.endpoint(for: origin)
        services.abandonTrial(of: origin)
        #expect(services.endpoint(for: origin) == service)
        services.confirm(origin)
        services.abandonTrial(of: origin)
        #expect(services.endpoint(for: origin) == service)
    }

    @Test(
        "An endpoint that does not answer is set aside for five minutes, then for twice as long, for two days at most"
    )
    func setAside() {
        let services = services()
        _ = services.learn(.service(service), of: origin)
        for pause in [300.0, 600, 1200] {
            #expect(services.endpoint(for: origin) == service)
            services.setAside(origin)
            // The server repeats its offer with each response.
            #expect(!services.learn(.service(service), of: origin))
            time.advance(pause - 1)
            #expect(services.endpoint(for: origin) == nil)
            time.advance(1)
        }
        for _ in 0..<100 {
            _ = services.endpoint(for: origin)
            services.setAside(origin)
            _ = services.learn(.service(service), of: origin)
            time.advance(172_800)
        }
        #expect(services.endpoint(for: origin) == service)
        services.confirm(origin)
        services.setAside(origin)
        time.advance(300)
        #expect(services.endpoint(for: origin) == service)
    }

    @Test("Requests that fail together count as one failure")
    func together() {
        let services = services()
        _ = services.learn(.service(service), of: origin)
        services.confirm(origin)
        for _ in 0..<6 { #expect(services.note(.unreachable, of: origin)) }
        time.advance(300)
        #expect(services.endpoint(for: origin) == service)
    }

    @Test(
        "An endpoint that has answered is set aside only when it cannot be reached, and one on trial after any failure"
    )
    func answers() {
        for isConfirmed in [true, false] {
            for (answer, isRepeated) in [
                (AlternativeServices.Answer.answered, false), (.unreachable, true), (.failed, !isConfirmed),
                (.timedOut, false),
            ] {
                let services = services()
                _ = services.learn(.service(service), of: origin)
                _ = services.endpoint(for: origin)
                if isConfirmed { services.confirm(origin) }
                #expect(services.note(answer, of: origin) == isRepeated, "\(answer)")
                let isKept = answer == .answered || (isConfirmed && answer != .unreachable)
                #expect((services.endpoint(for: origin) != nil) == isKept, "\(answer)")
            }
        }
    }

    @Test("Limits of the app and the end of its interest are not failures to connect")
    func codes() {
        func answer(_ code: CURLcode, _ isConnected: Bool, hasTimeLeft: Bool = true) -> AlternativeServices.Answer {
            AlternativeServices.Answer(code, isConnected: isConnected, hasTimeLeft: hasTimeLeft)
        }
        for code in [CURLE_OK, CURLE_WRITE_ERROR, CURLE_FILESIZE_EXCEEDED] { #expect(answer(code, true) == .answered) }
        #expect(answer(CURLE_OPERATION_TIMEDOUT, true) == .timedOut)
        #expect(answer(CURLE_OPERATION_TIMEDOUT, false) == .unreachable)
        #expect(answer(CURLE_OPERATION_TIMEDOUT, false, hasTimeLeft: false) == .timedOut)
        for code in [CURLE_QUIC_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION] {
            #expect(answer(code, false) == .unreachable && answer(code, true) == .failed)
        }
        // The server may close its port while a connection waits for the next request.
        #expect(
            answer(CURLE_COULDNT_CONNECT, false) == .unreachable && answer(CURLE_COULDNT_CONNECT, true) == .unreachable
        )
    }

    @Test("Only a GET without a body may go over QUIC, without a proxy and with a verified certificate")
    func requests() throws {
        func mayUse(
            _ method: String,
            body: Data? = nil,
            proxy: ProxyChoice = .direct,
            allowsInvalidCertificates: Bool = false
        ) throws -> Bool {
            var options = NetworkOptions()
            options.allowsInvalidCertificates = allowsInvalidCertificates
            options.requestModifier = RequestModifier(key: "method") {
                RequestModifier.Request(url: $0.url, method: method, headers: $0.headers, body: body)
            }
            let url = try #require(URL(string: "https://example.org/a"))
            let transfer = CurlTransfer(
                TransferKey(LoaderRequest(url: url, options: options)),
                number: 1,
                age: 1,
                configuration: ImageDownloader.Configuration(),
                observers: Observers()
            )
            guard case .nextExchange = transfer.begin() else { throw CancellationError() }
            transfer.useProxy(proxy)
            return transfer.mayUseAlternative
        }
        #expect(try mayUse("GET"))
        #expect(try !mayUse("POST") && !mayUse("HEAD") && !mayUse("get"))
        #expect(try !mayUse("GET", body: Data("query".utf8)))
        #expect(try !mayUse("GET", proxy: .proxy("http://127.0.0.1:9")))
        #expect(try !mayUse("GET", allowsInvalidCertificates: true))
    }

    @Test("An offer ends with its age, or when the server withdraws it")
    func ends() {
        let services = services()
        _ = services.learn(.service(AlternativeService(port: 1, maximumAge: 10)), of: origin)
        time.advance(10)
        #expect(services.endpoint(for: origin) == nil)
        _ = services.learn(.service(service), of: origin)
        #expect(services.learn(.none, of: origin))
        #expect(services.endpoint(for: origin) == nil && !services.learn(.none, of: origin))
        #expect(!services.learn(.service(AlternativeService(port: 1, maximumAge: 0)), of: origin))
        #expect(services.endpoint(for: origin) == nil)
        // The age of an offer may be as large as an integer.
        _ = services.learn(.service(AlternativeService(port: 1, maximumAge: .max)), of: origin)
        #expect(services.endpoint(for: origin) != nil && !services.fileContents.isEmpty)
    }

    @Test("Only origins with TLS count, each with its port")
    func origins() {
        func origin(_ text: String) -> AlternativeServices.Origin? { URL(string: text).flatMap { .init($0) } }
        #expect(origin("http://example.org/a") == nil && origin("file:///a") == nil && origin("https:///a") == nil)
        #expect(origin("https://example.org/b") == self.origin && origin("HTTPS://example.ORG:443") == self.origin)
        #expect(origin("https://example.org:444/a") != self.origin)
    }

    @Test("Offers are found again in the file, without what became of them")
    func file() {
        let first = services()
        _ = first.learn(.service(service), of: origin)
        let other = AlternativeServices.Origin(URL(string: "https://other.example:8000")!)!
        _ = first.learn(.service(AlternativeService(host: "alt.example", port: 9, maximumAge: 60)), of: other)
        first.setAside(origin)
        #expect(first.fileContents.contains("h2 example.org 443 h3 example.org 8443 \"20270126 21:46:40\" 0 0\n"))
        let second = services()
        second.read(first.fileContents)
        #expect(second.fileContents == first.fileContents)
        #expect(second.endpoint(for: origin)?.port == 8443)
        #expect(second.endpoint(for: other)?.host == "alt.example")
        time.advance(61)
        let third = services()
        third.read(first.fileContents)
        #expect(third.endpoint(for: other) == nil && third.endpoint(for: origin) != nil)
    }

    @Test("A damaged file offers nothing that it does not say, and a large one only its first lines")
    func damaged() {
        let services = services()
        let good = "h2 example.org 443 h3 example.org 8443 \"20270126 21:46:40\" 0 0"
        for length in 0..<good.count {
            services.read(String(good.prefix(length)))
            services.read(String(good.dropFirst(length + 1)))
        }
        services.read("h2 example.org 99999999999999999999 h3 example.org 8443 \"20270126 21:46:40\" 0 0")
        services.read("h2 example.org 443 h3 example.org:1 8443 \"20270126 21:46:40\" 0 0")
        services.read("h2 example.org 443 h3 example.org 8443 \"99999999 99:99:99\" 0 0")
        services.read("\u{0}\n\n   \n# comment")
        if let endpoint = services.endpoint(for: origin) { #expect(endpoint.host.isEmpty) }
        services.read((0..<2000).map { "h2 h\($0) 443 h3 h\($0) 443 \"20270126 21:46:40\" 0 0\n" }.joined())
        #expect(services.fileContents.split(separator: "\n").count <= 501)
    }
}
