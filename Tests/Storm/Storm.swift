import Foundation
import Glibc
import Synchronization
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageSandbox
import WebImageTesting

/// Loads images while everything goes wrong, and notes what must not happen.
final class Storm: Sendable {
    private struct Count {
        var started = 0
        var ended = 0
        var results: [String: Int] = [:]
        var mistakes: [String] = []
    }

    private let server: StormServer
    private let managers: [ImageManager]
    private let cacheDirectory: String
    private let count = Mutex(Count())
    private let isOver = Mutex(false)
    private let free = DispatchSemaphore(value: 64)

    /// - Parameters:
    ///   - cases: The folder of damaged files.
    ///   - cache: A directory on a disk that is nearly full.
    init(cases: String, cache: String) throws {
        cacheDirectory = cache
        let coders = CoderRegistry.builtIn(adding: [], sandbox: (DecodeSandbox.shared!, isOptional: false))
        let damaged = try FileManager.default.contentsOfDirectory(atPath: cases).sorted().compactMap { name in
            let file = try Data(contentsOf: URL(filePath: "\(cases)/\(name)"))
            let isShown = (try? coders.decode(file, options: DecodeOptions(url: URL(string: "http://host/a")))) != nil
            return isShown ? nil : file
        }
        server = try StormServer(damaged: damaged)
        managers = (0..<2).map { number in
            var configuration = ImageManager.Configuration()
            configuration.diskCache = ImageManager.Configuration.DiskCache(directory: "\(cache)/\(number)")
            configuration.retryPolicy.initialDelay = .milliseconds(200)
            var downloader = ImageDownloader.Configuration()
            (downloader.connectTimeout, downloader.idleTimeout) = (.seconds(2), .seconds(5))
            configuration.downloader = ImageDownloader(configuration: downloader)
            return ImageManager(configuration: configuration)
        }
        print("\(damaged.count) damaged files")
    }

    // MARK: Loads

    private func request() -> (StormServer.Kind, Int, ImageRequest) {
        let kind = StormServer.Kind.allCases.randomElement()!
        let number = Int.random(in: 0..<200)
        var request = ImageRequest(url: server.url(kind, number))
        request.cachePolicy = [.standard, .standard, .refresh, .reload].randomElement()!
        request.priority = [.low, .normal, .high].randomElement()!
        if Bool.random() { request.loading = .progressive }
        if Bool.random() { request.decodeSize = .contain(PixelSize(width: 30, height: 20)) }
        return (kind, number, request)
    }

    private func load() {
        let (kind, number, request) = request()
        let ends = Mutex(0)
        let isCancelled = Mutex(false)
        count.withLock { $0.started += 1 }
        let task = managers.randomElement()!.load(request, on: InlineDispatcher(), partial: { _ in }) { [self] result in
            let isFirst = ends.withLock { ends in
                ends += 1
                return ends == 1
            }
            if !isFirst { note(mistake: "\(request.url) has ended twice") }
            end(kind, number, result, isCancelled: isCancelled.withLock { $0 })
            free.signal()
        }
        if Int.random(in: 0..<10) == 0 {
            isCancelled.withLock { $0 = true }
            task.cancel()
        }
    }

    private func end(
        _ kind: StormServer.Kind,
        _ number: Int,
        _ result: Result<ImageResponse, ImageError>,
        isCancelled: Bool
    ) {
        var name = "image"
        switch result {
        case .success(let response):
            let pixels = response.image.pixels
            let color = pixels.straightAlpha.prefix(4).map(Int.init)
            let wanted = [16, 8, 0].map { Int(StormServer.color(number) >> $0 & 255) }
            let isRight = zip(color, wanted).allSatisfy { abs($0 - $1) <= 4 }
            if !kind.isHealthy { note(mistake: "\(kind) \(number) is shown") }
            if kind.isHealthy, !isRight { note(mistake: "\(kind) \(number) is \(color) instead of \(wanted)") }
        case .failure(let error):
            name = "\(error.code)"
            if error.isCancelled, !isCancelled { note(mistake: "\(kind) \(number) was cancelled by nobody") }
            if kind.isHealthy, !error.isCancelled, !error.isTransient || error.isRemembered {
                note(mistake: "\(kind) \(number) is blamed: \(error)")
            }
        }
        count.withLock { count in
            count.ended += 1
            count.results["\(kind): \(name)", default: 0] += 1
        }
    }

    private func note(mistake: String) {
        print("MISTAKE \(mistake)")
        count.withLock { $0.mistakes.append(mistake) }
    }

    // MARK: Faults

    private func repeatedly(every range: ClosedRange<Double>, _ fault: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [self] in
            while !isOver.withLock({ $0 }) {
                usleep(UInt32(Double.random(in: range) * 1_000_000))
                if !isOver.withLock({ $0 }) { fault() }
            }
        }
    }

    private func startFaults() {
        let sandbox = DecodeSandbox.shared!
        repeatedly(every: 0.3...1.5) {
            // By another signal the decoder may have ended itself.
            let number = [SIGKILL, SIGSTOP].randomElement()!
            guard let worker = sandbox.processes.randomElement() else { return }
            kill(worker, number)
            guard number == SIGSTOP else { return }
            sleep(3)
            kill(worker, SIGCONT)
        }
        repeatedly(every: 10...20) { sandbox.zygoteProcesses.randomElement().map { _ = kill($0, SIGKILL) } }
        // As a machine sleeps: nothing of the app runs.
        repeatedly(every: 20...40) {
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            let app = getpid()
            process.arguments = ["-c", "kill -STOP \(app); sleep 7; kill -CONT \(app)"]
            try? process.run()
            process.waitUntilExit()
        }
        repeatedly(every: 10...20) { [cacheDirectory] in
            let file = Glibc.open("\(cacheDirectory)/filler", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            let block = [UInt8](repeating: 1, count: 4096)
            while write(file, block, block.count) == block.count {}
            sleep(8)
            close(file)
            unlink("\(cacheDirectory)/filler")
        }
        repeatedly(every: 5...15) { [managers] in managers.randomElement()!.trimMemory(for: .critical) }
        repeatedly(every: 30...60) { [managers] in
            let manager = managers.randomElement()!
            manager.isOffline = true
            usleep(300_000)
            manager.isOffline = false
        }
    }

    func run(for seconds: Double) {
        startFaults()
        let start = ContinuousClock.now
        var minute = 0
        while case let spent = (ContinuousClock.now - start) / .seconds(1), spent < seconds {
            if Int(spent / 60) > minute {
                minute = Int(spent / 60)
                print(count.withLock { "\(minute) min: \($0.started) loads, \($0.mistakes.count) mistakes" })
            }
            free.wait()
            load()
        }
        isOver.withLock { $0 = true }
        // All loads end within their limits of time.
        if !EventLog<Int>.poll(until: { count.withLock { $0.started == $0.ended } }) {
            note(mistake: count.withLock { "\($0.started - $0.ended) loads have not ended" })
        }
    }

    // MARK: The end

    /// Loads each image once more now that the storm is over: nothing is held against it.
    private func loadAll() {
        for number in 0..<200 {
            for manager in managers {
                let result = Mutex<Result<ImageResponse, ImageError>?>(nil)
                manager.load(ImageRequest(url: server.url(.healthy, number)), on: InlineDispatcher()) { end in
                    result.withLock { $0 = end }
                }
                let hasEnded = EventLog<Int>.poll { result.withLock { $0 != nil } }
                if !hasEnded { note(mistake: "healthy \(number) does not end after the storm") }
                if case .failure(let error) = result.withLock({ $0 }) { note(mistake: "after the storm: \(error)") }
            }
        }
    }

    /// Prints what has happened. Returns whether all was right.
    func report() -> Bool {
        loadAll()
        let count = count.withLock { $0 }
        for (name, number) in count.results.sorted(by: { $0.key < $1.key }) { print("\(number) \(name)") }
        let failures = managers.map(\.cache.diskFailureCount)
        print("\(count.started) loads, \(count.ended) ends, \(count.mistakes.count) mistakes")
        print("Writes that failed: \(failures)")
        return count.mistakes.isEmpty && count.started == count.ended
    }
}
