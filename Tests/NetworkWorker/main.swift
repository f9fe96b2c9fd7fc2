import CWorkerShims
import Dispatch
import Foundation
import Glibc
import Synchronization
import TestSupport
import WebImageCore
import WebImageLinux

// Uses a downloader in ways that a process with tests in it cannot:
// NetworkWorker exit URL AUTHORITIES MILLISECONDS, NetworkWorker exit-openssl URL AUTHORITIES MILLISECONDS,
// NetworkWorker resolve URL SECONDS, NetworkWorker descriptors URL,
// NetworkWorker cancels URL COUNT, NetworkWorker bodies URL COUNT, NetworkWorker cookies URL COUNT, NetworkWorker parts URL COUNT, NetworkWorker hold URL COUNT,
// NetworkWorker settings URL MODULES, NetworkWorker proxy URL PROXY.

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

/// Waits until the network thread has nothing to do, and sleeps.
func waitForRest(_ downloader: ImageDownloader) {
    while downloader.transferCounts != (0, 0) || !areOtherThreadsAsleep() { sched_yield() }
}

/// Whether all threads but the main one sleep (proc_pid_stat(5)).
func areOtherThreadsAsleep() -> Bool {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return threads.allSatisfy { thread in
        guard thread != "\(getpid())" else { return true }
        let stat = try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
        return stat?.contains(") S ") == true
    }
}

func openDescriptorCount() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
}

/// Uses OpenSSL as another library of an app does, so that its exit handlers are there before those of the library.
func initializeOpenSSL() {
    typealias Initialize = @convention(c) (UInt64, OpaquePointer?) -> Int32
    guard let library = dlopen("libssl.so.3", RTLD_NOW), let symbol = dlsym(library, "OPENSSL_init_ssl") else {
        fatalError("There is no OpenSSL 3")
    }
    guard unsafeBitCast(symbol, to: Initialize.self)(0, nil) == 1 else { fatalError("OpenSSL does not start") }
}

/// Opens settings or a file while another thread loads the modules of GIO for the desktop's proxies, as gtk_init does.
/// - Parameters:
///   - function: The function of GIO that opens something with a name.
///   - modules: A folder of modules, which shows in the memory map while they are loaded.
func open(_ name: String, with function: String, whileLoading modules: String) {
    typealias New = @convention(c) (UnsafePointer<CChar>) -> OpaquePointer?
    guard let symbol = dlsym(dlopen("libgio-2.0.so.0", RTLD_NOW), function) else {
        fatalError("There is no GIO")
    }
    let manager = ImageManager(configuration: ImageManager.Configuration())
    // What is no module is unloaded at once, so that the moment may be missed.
    let (folder, end) = (Data(modules.utf8), ContinuousClock.now + .seconds(2))
    while FileManager.default.contents(atPath: "/proc/self/maps")?.range(of: folder) == nil, ContinuousClock.now < end {
    }
    guard unsafeBitCast(symbol, to: New.self)(name) != nil else { fatalError("There is no \(name)") }
    withExtendedLifetime(manager) { print("opened") }
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
case "exit", "exit-openssl":
    if arguments[1] == "exit-openssl" { initializeOpenSSL() }
    configuration.certificateAuthorityFile = arguments[3]
    let downloader = ImageDownloader(configuration: configuration)
    let loads = (0..<40).map { load(downloader, url.appending(path: "\($0).bin")) }
    // The time of the exit is what the test varies.
    usleep(UInt32(arguments[4])! * 1000)
    _ = loads
    exit(0)
case "hold":
    // Closures that never return hold the network threads up while the process exits.
    let held = DispatchSemaphore(value: 0)
    configuration.requestModifier = RequestModifier(key: "held") { request in
        held.signal()
        while pause() != 0 {}
        return request
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
case "missing":
    let downloader = ImageDownloader(configuration: configuration)
    let start = ContinuousClock.now
    let loads = (0..<Int(arguments[3])!).map { load(downloader, url.appending(path: "\($0)")) }
    for load in loads { load.end.wait() }
    print("seconds", Int((ContinuousClock.now - start) / .seconds(1)))
case "abandon":
    set_slow_lookup_seconds(20)
    let start = ContinuousClock.now
    let downloader = ImageDownloader(configuration: configuration)
    for number in 0..<Int(arguments[3])! {
        let abandoned = load(downloader, URL(string: "http://slow.example/\(number)")!)
        // The list goes on as soon as the load is under way, or waits.
        while downloader.transferCounts == (0, 0) { sched_yield() }
        // Some versions of libcurl begin the lookup a moment later. The first one is to be seen.
        while number == 0, slow_lookup_count() < 1 { usleep(1000) }
        abandoned.operation.cancel()
        while downloader.transferCounts != (0, 0) { sched_yield() }
    }
    print("lookups", slow_lookup_count())
    print("seconds", Int((ContinuousClock.now - start) / .seconds(1)) + 1)
    fflush(nil)
    measure("other", downloader, url)
    fflush(nil)
    _exit(0)
case "manager":
    // gdk-pixbuf would wait for ever for the list of its loaders.
    setenv("GDK_PIXBUF_MODULE_FILE", arguments[3], 1)
    let managers = (0..<3).map { number in
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: "\(arguments[3]).\(number)")
        return ImageManager(configuration: configuration)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap {
        try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
    }
    // What looks at the cache directory ends by itself, and all managers share the thread of timers.
    print("threads", names.filter { $0.hasPrefix("gwi-") && !$0.hasPrefix("gwi-setup") && $0 != "gwi-timers\n" })
    fflush(nil)
    withExtendedLifetime(managers) { _exit(0) }
case "descriptors":
    let downloader = ImageDownloader(configuration: configuration)
    var taken = [Int32](repeating: -1, count: 64)
    let count = Int(take_descriptors(&taken))
    measure("without", downloader, url)
    for descriptor in taken.prefix(count) { close(descriptor) }
    for round in 0..<3 {
        waitForRest(downloader)
        measure("with\(round)", downloader, url)
    }
case "cancels", "bodies":
    // Large bodies are kept in files.
    configuration.inMemoryBodyLimit = 1000
    let downloader = ImageDownloader(configuration: configuration)
    load(downloader, url).end.wait()
    waitForRest(downloader)
    let before = openDescriptorCount()
    for number in 0..<Int(arguments[3])! {
        let download = load(downloader, url.appending(path: "\(number % 100)"))
        if arguments[1] == "cancels" { download.operation.cancel() } else { download.end.wait() }
    }
    load(downloader, url).end.wait()
    waitForRest(downloader)
    print("descriptors", openDescriptorCount() - before)
case "parts":
    let downloader = ImageDownloader(configuration: configuration)
    load(downloader, url.appending(path: "first")).end.wait()
    let before = allocated_byte_count()
    for number in 0..<Int(arguments[3])! { load(downloader, url.appending(path: "\(number)")).end.wait() }
    print("bytes", Int(allocated_byte_count()) - Int(before))
case "cookies":
    let downloader = ImageDownloader(configuration: configuration)
    func run(_ count: Int) {
        for _ in 0..<count { load(downloader, url) { $0.handlesCookies = true }.end.wait() }
    }
    run(200)
    let before = allocated_byte_count()
    run(Int(arguments[3])!)
    print("bytes", Int(allocated_byte_count()) - Int(before))
case "proxy":
    configuration.proxy = .fixed(URL(string: arguments[3])!)
    measure("proxied", ImageDownloader(configuration: configuration), url)
case "settings":
    open("org.gnome.system.proxy", with: "g_settings_new", whileLoading: arguments[3])
case "file":
    open("/tmp", with: "g_file_new_for_path", whileLoading: arguments[3])
default:
    fatalError("NetworkWorker does not know \(arguments[1])")
}
