import CWorkerShims
import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore
import WebImageLinux

// Uses a downloader in ways that a process with tests in it cannot:
// NetworkWorker exit URL AUTHORITIES MILLISECONDS, NetworkWorker resolve URL SECONDS, NetworkWorker descriptors URL,
// NetworkWorker cookies URL COUNT, NetworkWorker hold URL COUNT.

let arguments = CommandLine.arguments
var configuration = ImageDownloader.Configuration()
configuration.proxy = .none

func load(_ downloader: ImageDownloader, _ url: URL, _ change: (inout NetworkOptions) -> Void = { _ in })
    -> (operation: any FetchOperation, end: DispatchSemaphore, byteCount: () -> Int?)
{
    let end = DispatchSemaphore(value: 0)
    let byteCount = LockedCount()
    var options = NetworkOptions()
    change(&options)
    let operation = downloader.load(LoaderRequest(url: url, options: options)) { event in
        guard case .finished(let result) = event else { return }
        if case .success(let loaded) = result { byteCount.value.withLock { $0 = loaded.data.count } }
        end.signal()
    }
    return (operation, end, { byteCount.value.withLock { $0 } })
}

final class LockedCount: Sendable {
    let value = Mutex<Int?>(nil)
}

/// Prints how long a load takes.
func measure(_ name: String, _ downloader: ImageDownloader, _ url: URL) {
    let start = ContinuousClock.now
    let load = load(downloader, url)
    load.end.wait()
    print(name, load.byteCount().map(String.init) ?? "failed", Int((ContinuousClock.now - start) / .milliseconds(1)))
}

let url = URL(string: arguments[2])!
switch arguments[1] {
case "exit":
    configuration.certificateAuthorityFile = arguments[3]
    let downloader = ImageDownloader(configuration: configuration)
    let loads = (0..<40).map { load(downloader, url.appending(path: "\($0).bin")) }
    usleep(UInt32(arguments[4])! * 1000)
    _ = loads
    exit(0)
case "hold":
    // Closures that never return hold the network threads up while the process exits.
    let held = DispatchSemaphore(value: 0)
    configuration.headerFilter = { _, headers in
        held.signal()
        while pause() != 0 {}
        return headers
    }
    let downloaders = (0..<Int(arguments[3])!).map { _ in ImageDownloader(configuration: configuration) }
    let loads = downloaders.map { load($0, url) }
    for _ in loads { held.wait() }
    exit(0)
case "resolve":
    set_slow_lookup_seconds(Int32(arguments[3])!)
    configuration.connectTimeout = .seconds(1)
    let downloader = ImageDownloader(configuration: configuration)
    // One load is cancelled during its lookup, another one reaches its time limit.
    let cancelled = load(downloader, URL(string: "http://slow.example/cancelled")!)
    while slow_lookup_count() < 1 { usleep(1000) }
    cancelled.operation.cancel()
    measure("cancelled", downloader, url)
    let late = load(downloader, URL(string: "http://slow.example/late")!)
    late.end.wait()
    measure("late", downloader, url)
    fflush(nil)
    _exit(0)
case "descriptors":
    let downloader = ImageDownloader(configuration: configuration)
    var taken = [Int32](repeating: -1, count: 64)
    let count = Int(take_descriptors(&taken))
    measure("without", downloader, url)
    for descriptor in taken.prefix(count) { close(descriptor) }
    for round in 0..<3 {
        // The network thread has nothing to do before each load, and sleeps.
        usleep(100_000)
        measure("with\(round)", downloader, url)
    }
case "cookies":
    let downloader = ImageDownloader(configuration: configuration)
    func run(_ count: Int) {
        for _ in 0..<count { load(downloader, url) { $0.handlesCookies = true }.end.wait() }
    }
    run(200)
    let before = allocated_byte_count()
    run(Int(arguments[3])!)
    print("bytes", Int(allocated_byte_count()) - Int(before))
default:
    fatalError("NetworkWorker does not know \(arguments[1])")
}
