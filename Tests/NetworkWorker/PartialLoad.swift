import Foundation
import Glibc
import WebImageCore
import WebImageLinux

/// Loads the bytes of a URL with a disk cache, and is killed once a part of them is on disk, or exits then, or ends by itself.
enum PartialLoad {
    /// - Parameters:
    ///   - end: `kill` or `exit` to end in the middle, anything else to end with the load.
    ///   - count: The size of the part on disk at which the process ends.
    static func run(_ url: URL, in directory: String, _ end: String, at count: Int) -> Never {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory)
        configuration.downloader = ImageDownloader()
        configuration.downloader.configuration.proxy = .none
        // The parts of a body are those of one program.
        configuration.downloader.configuration.userAgent = "Test"
        configuration.retryPolicy = .never
        let manager = ImageManager(configuration: configuration)
        manager.loadData(url, on: InlineDispatcher()) { result in
            switch result {
            case .success(let response): print("bytes \(response.data.count) \(hash(response.data))")
            case .failure(let error): print("failed \(error)")
            }
            fflush(nil)
            _exit(0)
        }
        while !["kill", "exit"].contains(end) || partSize(in: directory) < count { usleep(200) }
        if end == "kill" { kill(getpid(), SIGKILL) }
        exit(0)
    }

    private static func partSize(in directory: String) -> Int {
        FileStore().files(below: directory).filter { $0.path.contains("/parts/") }.map { path in
            var status = stat()
            return stat(path.path, &status) == 0 ? Int(status.st_size) : 0
        }.max() ?? 0
    }

    /// FNV-1a, as the test computes it.
    static func hash(_ data: Data) -> UInt64 {
        data.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
