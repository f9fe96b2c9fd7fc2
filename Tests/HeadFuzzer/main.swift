import Foundation
import Synchronization
import WebImageCore
import WebImageLinux
import WebImageTesting

// Answers the requests of a downloader with the inputs of libFuzzer. See Tests/fuzz.

/// The main function of libFuzzer, which calls back for each input.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// A server that sends the parts of an input one after the other, each on a connection of its own.
private final class InputServer: Sendable {
    private static let separator = Data("\n--\n".utf8)
    private static let start = Data("HTTP/1.1 ".utf8)

    private let listener: ServerSocket
    private let parts = Mutex<[Data]>([])

    init() throws {
        listener = try ServerSocket.listen(port: 0)
        Thread.detachNewThread { self.serve() }
    }

    var port: UInt16 { listener.localPort }

    func setInput(_ input: Data) {
        var parts: [Data] = []
        var rest = input
        while parts.count < 8, let range = rest.range(of: Self.separator) {
            parts.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        self.parts.withLock { $0 = parts + [rest] }
    }

    private func serve() {
        while let socket = listener.acceptConnection() {
            _ = socket.receive()
            // The last part answers all further requests.
            let part = parts.withLock { $0.count > 1 ? $0.removeFirst() : $0.first }
            _ = socket.send(Self.start + (part ?? Data()))
            socket.close()
        }
    }
}

private let server = try InputServer()
private let url = URL(string: "http://127.0.0.1:\(server.port)/a")!
private let downloader = {
    var configuration = ImageDownloader.Configuration()
    configuration.proxy = .none
    configuration.rateLimit = nil
    (configuration.connectTimeout, configuration.idleTimeout) = (.seconds(1), .milliseconds(200))
    configuration.maximumByteCount = 1 << 20
    return ImageDownloader(configuration: configuration)
}()

private func load(_ validators: ResponseMetadata.Validators?) -> Result<LoaderResult, ImageError> {
    let end = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<LoaderResult, ImageError>?>(nil)
    var request = LoaderRequest(url: url, wantsData: true, validators: validators)
    request.options.handlesCookies = true
    // No input leads to another server.
    request.shouldLoad = { $0.host() == "127.0.0.1" && $0.port == url.port }
    _ = downloader.load(request) { event in
        guard case .finished(let result) = event else { return }
        outcome.withLock { $0 = result }
        end.signal()
    }
    end.wait()
    return outcome.withLock { $0 }!
}

/// Uses whatever a response says.
private func use(_ result: Result<LoaderResult, ImageError>) -> ResponseMetadata.Validators? {
    switch result {
    case .failure(let error):
        _ = ImageRetryPolicy().delay(after: error, attempt: 1, chance: 0.5)
        _ = error.description
        return nil
    case .success(let loaded):
        let metadata = loaded.metadata
        for policy in [ImageRequest.CachePolicy.standard, .refresh, .cachedElseLoad] {
            for now in [Date(), .distantPast, .distantFuture] {
                _ = policy.use(of: metadata, headers: ["Accept": "image/png"], now: now)
            }
        }
        let entry = CacheEntry(key: "k", data: Data(), response: metadata, storedAt: Date())
        guard let file = try? CacheEntryFile.encode(entry, .standard)[1],
            let copy = try? CacheEntryFile(tail: file, size: file.count, key: "k", .standard)?.entry(file, .standard)
        else { fatalError("The metadata cannot be stored") }
        _ = copy.response.renewed(by: metadata)
        return metadata.validators
    }
}

/// The entry point that libFuzzer's own main calls. It has to exist for the linker.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    server.setInput(bytes.map { Data(bytes: $0, count: count) } ?? Data())
    // The second load resumes the first where the input allows it, the third is conditional.
    let validators = use(load(nil))
    _ = use(load(nil))
    _ = use(load(validators))
    return 0
}

var count = CommandLine.argc
var arguments = CommandLine.unsafeArgv
exit(
    runFuzzer(&count, &arguments) { testOneInput($0, $1) }
)
