import Foundation
import Glibc
import TestSupport
import WebImageCore
import WebImageLinux

/// Loads an image as a program that sysprof has started, and prints the marks.
enum MarkedLoad {
    static func run(_ url: URL, in directory: String) throws -> Never {
        let sysprof = try FakeSysprof()
        // GLib asks for a buffer, too, where it was built with sysprof.
        let rings = try (0..<8).map { _ in try SysprofRing(size: 16 * SysprofRing.page) }
        setenv("SYSPROF_CONTROL_FD", "\(sysprof.socket)", 1)
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory)
        configuration.downloader = ImageDownloader()
        configuration.downloader.configuration.proxy = .none
        let manager = ImageManager(configuration: configuration)
        Thread {
            for ring in rings {
                guard !sysprof.receiveRequest().isEmpty else { break }
                sysprof.answer([ring.file])
            }
        }.start()
        manager.load(ImageRequest(url: url), on: InlineDispatcher()) { result in
            if case .failure(let error) = result { print("failed \(error)") }
            var marks: [SysprofRing.Mark] = []
            // The answer may come later than the image.
            while marks.count < 5 {
                sched_yield()
                marks += rings.flatMap { $0.read() ?? [] }.filter { $0.group == "GtkWebImage" }
            }
            for mark in marks { print(mark.name, mark.message) }
            fflush(nil)
            _exit(0)
        }
        while true { pause() }
    }
}
