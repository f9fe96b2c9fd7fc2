import Foundation
import TestSupport
import WebImageCore
import WebImageTesting

/// What the loads of a storm ask for, and the servers that answer.
struct StormServer: Sendable {
    /// What is right for a kind of URL.
    enum Kind: String, CaseIterable {
        /// An image, whole at once, in drops, or after a response without one.
        case healthy, slow, late
        /// A body that ends too early, or as the connection does.
        case cut, unfinished
        /// A file that the cases have for damaged, or a file that is none.
        case damaged, page
        /// A body without an end, and a server that says nothing.
        case endless, silent

        /// Whether a load may end with an image. It may fail all the same, but never as if the file were to blame.
        var isHealthy: Bool { [.healthy, .slow, .late, .unfinished].contains(self) }
    }

    static let size = PixelSize(width: 120, height: 80)
    static let formats: [TestImage.Format] = [.png, .jpeg, .bmp, .tiff]
    private static let endless = Data(count: 20 << 20)
    private let server: LocalImageServer
    private let silent: ServerSocket

    /// - Parameter damaged: Files that no decoder takes.
    init(damaged: [Data]) throws {
        silent = try ServerSocket.listen(port: 0)
        server = try LocalImageServer { request in
            let names = request.path.split(separator: "/")
            guard names.count == 2, let kind = Kind(rawValue: String(names[0])), let number = Int(names[1]) else {
                return .notFound
            }
            return Self.response(kind, number, damaged)
        }
    }

    static func color(_ number: Int) -> UInt32 { [0xFF_0000, 0x00_FF00, 0x00_00FF, 0xFF_FFFF][number % 4] }

    func url(_ kind: Kind, _ number: Int) -> URL {
        if kind == .silent { return URL(string: "https://127.0.0.1:\(silent.localPort)/\(number)")! }
        return server.url("/\(kind.rawValue)/\(number)")
    }

    private static func response(_ kind: Kind, _ number: Int, _ damaged: [Data]) -> ServerResponse {
        let file = TestImage.solid(color(number), size: size, format: formats[number / 4 % formats.count])
        var response = ServerResponse.ok(file, contentType: "image/png")
        response.headers.append(("Cache-Control", "max-age=\(number % 3)"))
        let isBad = Bool.random()
        switch kind {
        case .healthy: break
        case .slow: response.faults.drip = (bytes: 200 + file.count / 8, every: .milliseconds(50))
        case .late where isBad: return ServerResponse(status: [202, 204, 503].randomElement()!)
        case .late: break
        case .cut: response.faults.closeAfterBytes = file.count / 2
        case .unfinished:
            response.faults.endsWithConnection = true
            if isBad { response.body = file.prefix(file.count / 2) }
        case .damaged: response.body = damaged[number % damaged.count]
        case .page: response.body = Data("<!DOCTYPE html><html><body>Log in".utf8)
        case .endless:
            response.body = endless
            response.faults.endsWithConnection = true
            response.faults.drip = (bytes: 20_000, every: .milliseconds(20))
        case .silent: break
        }
        return response
    }
}
