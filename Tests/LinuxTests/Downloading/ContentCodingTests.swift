import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Codings of bodies")
struct ContentCodingTests {
    private static let text = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 7) })
    private static let gzip: Data = compressed(text)
    /// The stream without the header of ten bytes and the trailer of eight.
    private static let raw = Data(gzip.dropFirst(10).dropLast(8))
    private static let zlib: Data = {
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in text {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        let sum = high << 16 | low
        return Data([0x78, 0x9C]) + raw + Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) })
    }()

    private static func compressed(_ data: Data) -> Data {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/body"
        do {
            try data.write(to: URL(filePath: path))
            _ = try ChildProcess.run("gzip", ["-n", path])
            return try Data(contentsOf: URL(filePath: path + ".gz"))
        } catch {
            Issue.record(error)
            return Data()
        }
    }

    private func load(
        _ body: Data,
        _ coding: String,
        isChunked: Bool = false,
        by downloader: ImageDownloader = ImageDownloader(),
        _ change: (inout NetworkOptions) -> Void = { _ in }
    ) throws -> (download: Download, request: ServerRequest) {
        let server = try LocalImageServer { _ in
            var response = ServerResponse(status: 200, headers: [("Content-Encoding", coding)], body: body)
            response.faults.isChunked = isChunked
            return response
        }
        let download = Download(downloader, server.url("/a"), wantsData: true, change)
        download.events.wait { if case .finished = $0.last { true } else { false } }
        return (download, try #require(server.requests.first))
    }

    @Test("Every coding that is asked for is removed, and the bytes are streamed decoded")
    func whole() throws {
        let bodies: [(String, Data)] = [
            ("gzip", Self.gzip), ("x-gzip", Self.gzip), ("GZIP", Self.gzip), ("deflate", Self.zlib),
            ("deflate", Self.raw), ("identity", Self.text), ("gzip, identity", Self.gzip),
            ("none", Self.text), ("None, gzip", Self.gzip), ("gzip, aws-chunked", Self.gzip),
            // What stores of objects say of images that are not compressed
            ("UTF-8", Self.text), ("aws-chunked", Self.text), ("base64", Self.text), ("binary", Self.text),
            ("7bit", Self.text), ("chunked", Self.text), ("compress", Self.text), ("image/png", Self.text),
            // Padding behind the end
            ("gzip", Self.gzip + Data(count: 512)),
        ]
        for (coding, body) in bodies {
            for isChunked in [false, true] {
                let (download, request) = try load(body, coding, isChunked: isChunked)
                #expect(try download.end().data == Self.text && download.pieces == Self.text, "\(coding)")
                #expect(request.headers["accept-encoding"] == "gzip, deflate")
            }
        }
    }

    @Test("A 304 may name any coding, since it has no body", arguments: ["br", "gzip"])
    func notModified(coding: String) throws {
        let server = try LocalImageServer { _ in ServerResponse(status: 304, headers: [("Content-Encoding", coding)]) }
        let validators = ResponseMetadata.Validators(etag: "\"1\"", lastModified: nil)
        let request = LoaderRequest(url: server.url("/a"), validators: validators)
        #expect(try Download(ImageDownloader(), request).end().isNotModified)
    }

    @Test("A gzip file of several members is all of them")
    func members() throws {
        let (download, _) = try load(Self.gzip + Self.gzip + Self.gzip, "gzip")
        #expect(try download.end().data == Self.text + Self.text + Self.text)
    }

    @Test("A body that ends before its coding does is incomplete, although HTTP says that it is whole")
    func truncated() throws {
        var bodies: [(String, Data)] = [
            ("gzip", Self.gzip + Self.gzip.dropLast(3)), ("gzip", Self.gzip.prefix(5)), ("gzip", Self.gzip.prefix(1)),
            ("deflate", Self.zlib.prefix(1)),
        ]
        for (coding, body, trailer) in [("gzip", Self.gzip, 8), ("deflate", Self.zlib, 4), ("deflate", Self.raw, 0)] {
            for missing in [1, 4, trailer, trailer + 1, 100_000] where missing > 0 {
                bodies.append((coding, body.dropLast(missing)))
            }
        }
        for (coding, body) in bodies {
            for isChunked in [false, true] {
                let error = try load(Data(body), coding, isChunked: isChunked).download.failure()
                #expect(error?.code == .transferIncomplete, "\(coding) \(body.count): \(String(describing: error))")
                #expect(error?.url != nil && error?.isTransient == true)
            }
        }
    }

    @Test("A coding that was not asked for, or a damaged one, is a bad response")
    func refused() throws {
        var damaged = Self.gzip
        damaged[damaged.count / 2] ^= 0x55
        var wrongSum = Self.gzip
        wrongSum[wrongSum.count - 6] ^= 1
        for (coding, body) in [
            ("br", Self.gzip), ("zstd", Self.gzip), ("gzip, br", Self.gzip),
            ("gzip, gzip", Self.compressed(Self.gzip)), ("deflate, gzip", Self.compressed(Self.zlib)),
            ("gzip", damaged), ("gzip", wrongSum), ("deflate", Data(repeating: 0xFF, count: 100)),
        ] {
            let error = try load(body, coding).download.failure()
            #expect(error?.code == .badResponse, "\(coding): \(String(describing: error))")
        }
    }

    @Test("A body of which few bytes make very many is refused, so that it holds up no other transfer")
    func dense() throws {
        let image = Data(repeating: 1, count: 4 << 20)
        #expect(try load(Self.compressed(image), "gzip").download.end().data == image)
        let error = try load(Self.compressed(image + image), "gzip").download.failure()
        #expect(error?.code == .bodyTooLarge && error?.remedy.contains("Content-Encoding") == true)
    }

    @Test("Bytes that decode to nothing count against the limit")
    func limited() throws {
        let empty = Self.compressed(Data())
        let members = (0..<60_000).reduce(into: Self.gzip) { members, _ in members += empty }
        let downloader = ImageDownloader { $0.maximumByteCount = 1_000_000 }
        for (coding, body) in [
            ("gzip", Self.gzip + Data(count: 1_000_000)), ("deflate", Self.zlib + Data(count: 1_000_000)),
            ("gzip", members),
        ] {
            let error = try load(body, coding, isChunked: true, by: downloader).download.failure()
            #expect(error?.code == .bodyTooLarge, "\(coding) \(body.count): \(String(describing: error))")
        }
        #expect(try load(Self.gzip, "gzip", isChunked: true, by: downloader).download.end().data == Self.text)
    }

    @Test("An app that chooses the codings has them removed by libcurl")
    func chosen() throws {
        let (download, request) = try load(Self.gzip, "gzip") { $0.headers["accept-encoding"] = "gzip;q=0.5" }
        #expect(try download.end().data == Self.text)
        #expect(request.headers["accept-encoding"] == "gzip;q=0.5")
    }
}
