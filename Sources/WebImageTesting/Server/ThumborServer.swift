package import FoundationEssentials

/// A Thumbor server on 127.0.0.1, which scales images of other servers. `Tests/thumbor` installs it.
package final class ThumborServer: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The folder of the Python virtual environment.
    private static let environment: String = {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        return "/\(root)/.build/thumbor"
    }()

    /// Whether Tests/thumbor has installed Thumbor.
    package static let isInstalled: Bool = ["python", "thumbor"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "\(environment)/bin/\($0)")
    }

    private let folder = TemporaryDirectory()
    private let port: UInt16
    private let daemon: DaemonProcess

    /// Starts Thumbor, which takes about a second.
    /// - Parameters:
    ///   - key: The key that signs URLs.
    ///   - sendsWebP: Whether clients that accept WebP get it. Default: no.
    package init(key: String, sendsWebP: Bool = false) throws {
        port = try LocalPort.free()
        let quoted = key.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let settings = """
            SECURITY_KEY = "\(quoted)"
            ALLOW_UNSAFE_URL = False
            STORAGE = "thumbor.storages.no_storage"
            AUTO_WEBP = \(sendsWebP ? "True" : "False")
            """
        let file = "\(folder.path)/thumbor.conf"
        try settings.write(toFile: file, atomically: true, encoding: .utf8)
        // The scripts of a virtual environment contain its original path, so they fail if it was moved.
        let arguments = ["-m", "thumbor.server", "-c", file, "-i", "127.0.0.1", "-p", "\(port)", "-l", "info"]
        daemon = try DaemonProcess("\(Self.environment)/bin/python", arguments, environment: [:])
        // Thumbor reports its start before it listens.
        guard LocalPort.waitUntilOpen(port, seconds: 120) else {
            daemon.stop()
            throw Failure(description: "Thumbor does not start: \(daemon.output)")
        }
    }

    deinit {
        daemon.stop()
    }

    /// The URL of the server.
    package var baseURL: URL { URL(string: "http://127.0.0.1:\(port)")! }

    /// The answered requests, each with its status and path, in order.
    package var requests: [(status: Int, path: String)] {
        daemon.output.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard let method = words.firstIndex(of: "GET"), method > 0, method + 1 < words.count else { return nil }
            return words[method - 1].split(separator: ":").last.flatMap { Int($0) }.map {
                ($0, String(words[method + 1]))
            }
        }
    }
}
