import ArgumentParser
import Foundation
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Compares the downloader with curl --parallel on many files, without decoding.
struct Downloads: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetches files from nginx on this machine over HTTP/1.1 and HTTP/2, with the library and with curl."
    )

    @Option(help: "The number of files to fetch.")
    var count = 500
    @Option(help: "The size of each file in bytes.")
    var size = 200_000
    @Option(help: "The number of rounds. Each rival runs once per round.")
    var rounds = 7
    @Option(help: "The number of concurrent transfers.")
    var window = 6

    func run() throws {
        let names = (0..<count).map { "\($0).bin" }
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, Self.content($0, size)) })
        let nginx = try Nginx(files: files)
        let kinds: [(String, (String) -> URL)] = [
            ("HTTP/1.1", { nginx.url($0) }), ("HTTP/2 over TLS", { nginx.url($0, .good) }),
        ]
        print("\(count) files of \(size) bytes, \(window) at a time, \(rounds) rounds")
        for (kind, url) in kinds {
            let urls = names.map(url)
            let list = try CurlList(urls, nginx.authorityFile, window)
            var measurements = Rounds()
            for _ in 0..<rounds {
                measurements.measure("library, \(kind)") { fetch(urls, nginx.authorityFile, size) }
                try measurements.measure("curl, \(kind)") { try list.run() }
            }
            print(measurements.table())
            let ratio = measurements.ratio("library, \(kind)", to: "curl, \(kind)")
            print("library to curl, \(kind): \(Rounds.format(ratio))\n")
            Limits.check("library to curl, \(kind)", ratio, atMost: 1.6)
        }
    }

    /// Fetches with a new downloader, which like curl has no open connection yet.
    private func fetch(_ urls: [URL], _ authorityFile: String, _ size: Int) {
        var configuration = ImageDownloader.Configuration()
        configuration.certificateAuthorityFile = authorityFile
        configuration.maximumConcurrentTransfers = window
        configuration.maximumTransfersPerHost = window
        let downloader = ImageDownloader(configuration: configuration)
        let ends = EventLog<Int>()
        for url in urls {
            _ = downloader.load(LoaderRequest(url: url)) { event in
                if case .finished(let result) = event { ends.add((try? result.get().data.count) ?? 0) }
            }
        }
        ends.wait { $0.count == urls.count }
        precondition(ends.all.allSatisfy { $0 == size }, "a transfer failed")
    }

    /// Incompressible bytes that are the same in each run.
    private static func content(_ name: String, _ size: Int) -> Data {
        var state = UInt64(truncatingIfNeeded: name.utf8.reduce(14_695_981_039) { ($0 ^ Int($1)) &* 1_099_511_628_211 })
        return Data(
            (0..<size).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 56)
            }
        )
    }
}

/// A list of URLs for curl, which keeps the bodies in memory as the library does.
private struct CurlList {
    private let folder = TemporaryDirectory()
    private let bodies = TemporaryDirectory(in: "/dev/shm/")
    private let arguments: [String]

    init(_ urls: [URL], _ authorityFile: String, _ window: Int) throws {
        let path = "\(folder.path)/list"
        let bodies = bodies.path
        let lines = urls.map { "url = \"\($0.absoluteString)\"\noutput = \(bodies)/\($0.lastPathComponent)\n" }
        try lines.joined().write(toFile: path, atomically: true, encoding: .utf8)
        arguments = [
            "--silent", "--show-error", "--fail", "--parallel", "--parallel-max", "\(window)", "--cacert",
            authorityFile,
            "--config", path,
        ]
    }

    func run() throws {
        let result = try ChildProcess.run("curl", arguments)
        precondition(result.exitCode == 0, "curl: \(result.output)")
    }
}
