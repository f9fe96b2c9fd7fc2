import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("TLS and HTTP/2, with nginx")
struct SecureTransferTests {
    private static let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    private let nginx: Nginx

    init() throws {
        nginx = try Nginx(files: Dictionary(uniqueKeysWithValues: (0..<60).map { ("\($0).bin", Self.body) }))
    }

    private func loader(trusts: Bool = true) -> ImageDownloader {
        var configuration = DownloaderConfiguration()
        if trusts { configuration.certificateAuthorityFile = nginx.authorityFile }
        return ImageDownloader(configuration: configuration)
    }

    private func load(_ loader: ImageDownloader, _ url: URL) -> Result<LoadedData, ImageError>? {
        let log = EventLog<Result<LoadedData, ImageError>>()
        _ = loader.load(LoadRequest(url: url)) { if case .finished(let result) = $0 { log.add(result) } }
        log.wait { $0.count == 1 }
        return log.all.first
    }

    @Test("A trusted server is loaded from over HTTP/2, sixty pictures on one connection, six at a time")
    func http2() throws {
        let loader = loader()
        let log = EventLog<Result<LoadedData, ImageError>>()
        for number in 0..<60 {
            _ = loader.load(LoadRequest(url: nginx.url("\(number).bin", .good))) { event in
                if case .finished(let result) = event { log.add(result) }
            }
        }
        #expect(log.wait { $0.count == 60 })
        for result in log.all { #expect(try result.get().data == Self.body) }
        #expect(EventLog<Int>.poll { nginx.log.count == 60 })
        #expect(nginx.log.allSatisfy { $0.hasPrefix("HTTP/2.0 ") })
        let connections = Set(nginx.log.map { $0.split(separator: " ")[1] })
        #expect(connections.count == 1, "\(connections)")
    }

    @Test("In cleartext it is HTTP/1.1, on at most six connections")
    func cleartext() throws {
        let loader = loader()
        let log = EventLog<Result<LoadedData, ImageError>>()
        for number in 0..<60 {
            _ = loader.load(LoadRequest(url: nginx.url("\(number).bin"))) { event in
                if case .finished(let result) = event { log.add(result) }
            }
        }
        #expect(log.wait { $0.count == 60 })
        for result in log.all { #expect(try result.get().data == Self.body) }
        #expect(EventLog<Int>.poll { nginx.log.count == 60 })
        #expect(nginx.log.allSatisfy { $0.hasPrefix("HTTP/1.1 ") })
        #expect(Set(nginx.log.map { $0.split(separator: " ")[1] }).count <= 6)
    }

    @Test(
        "A certificate for another name, expired, or signed by nobody known is refused, and the error says so",
        arguments: [Nginx.Certificate.otherName, .expired, .selfSigned]
    )
    func refused(certificate: Nginx.Certificate) {
        let error = #expect(throws: ImageError.self) { try load(loader(), nginx.url("0.bin", certificate))?.get() }
        #expect(error?.code == .tlsFailed, "\(String(describing: error))")
        #expect(error?.remedy.contains("certificate") == true)
        #expect(nginx.log.isEmpty)
    }

    @Test("An authority that this machine does not know is refused unless its file is given")
    func unknownAuthority() throws {
        let error = #expect(throws: ImageError.self) {
            try load(loader(trusts: false), nginx.url("0.bin", .good))?.get()
        }
        #expect(error?.code == .tlsFailed)
        #expect(try load(loader(), nginx.url("0.bin", .good))?.get().data == Self.body)
    }
}
