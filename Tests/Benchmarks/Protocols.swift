import ArgumentParser
import Foundation
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Compares HTTP/3 with HTTP/2 over a line with delay and loss.
struct Protocols: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetches images from nginx over HTTP/2 and HTTP/3, through a line with delay and loss. Needs root."
    )

    @Option(help: "The number of images to fetch.")
    var count = 60
    @Option(help: "The size of each image in bytes.")
    var size = 30_000
    @Option(help: "The number of rounds. Each protocol runs once per round, with a new connection.")
    var rounds = 7
    @Option(help: "The delay of the line in milliseconds, each way.")
    var delay = 40
    @Flag(help: "Measure here instead of starting Tests/lossy-network, which calls this command with this flag.")
    var inside = false

    func run() throws {
        guard ImageDownloader.supportsHTTP3, Nginx.supportsHTTP3 else {
            print("HTTP/3 needs a libcurl with ngtcp2 and an nginx with http_v3_module, as Debian testing has them")
            return
        }
        if inside { return try measure() }
        print("\(count) images of \(size) bytes, \(delay) ms each way, \(rounds) rounds, a new connection each")
        for loss in ["0", "1", "3"] {
            let arguments = [
                "\(delay)", loss, CommandLine.arguments[0], "protocols", "--inside", "--count", "\(count)",
                "--size", "\(size)", "--rounds", "\(rounds)",
            ]
            let result = try ChildProcess.run("Tests/lossy-network", arguments, seconds: 600)
            guard result.exitCode == 0 else { throw ValidationError(result.output) }
            print("\(loss) % of the packets lost\n\(result.output)")
        }
    }

    private func measure() throws {
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let names = (0..<count).map { "\($0).bin" }
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, body) })
        let nginx = try Nginx(files: files, host: "10.9.0.2")
        let urls = names.map { nginx.url($0, .good) }
        func downloader(usesHTTP3: Bool) -> ImageDownloader {
            var configuration = ImageDownloader.Configuration()
            configuration.certificateAuthorityFile = nginx.authorityFile
            configuration.proxy = .none
            configuration.usesHTTP3 = usesHTTP3
            return ImageDownloader(configuration: configuration)
        }
        var measurements = Rounds()
        for _ in 0..<rounds {
            for (name, usesHTTP3) in [("HTTP/2", false), ("HTTP/3", true)] {
                let downloader = downloader(usesHTTP3: usesHTTP3)
                try measurements.measure(name) {
                    try fetch(urls, downloader, expecting: name)
                }
            }
        }
        print(measurements.table())
        print("HTTP/3 to HTTP/2: \(Rounds.format(measurements.ratio("HTTP/3", to: "HTTP/2")))")
    }

    private func fetch(_ urls: [URL], _ downloader: ImageDownloader, expecting protocolName: String) throws {
        let ends = EventLog<Result<LoaderResult, ImageError>>()
        for url in urls {
            _ = downloader.load(LoaderRequest(url: url)) { event in
                if case .finished(let result) = event { ends.add(result) }
            }
        }
        ends.wait { $0.count == urls.count }
        let names = try ends.all.map { try $0.get().metrics?.protocolName ?? "" }
        guard names.count == urls.count, names.allSatisfy({ $0 == protocolName }) else {
            throw ValidationError("\(names.count) of \(urls.count) loads, by \(Set(names)) instead of \(protocolName)")
        }
    }
}
