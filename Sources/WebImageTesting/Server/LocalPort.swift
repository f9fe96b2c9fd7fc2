import Glibc

/// TCP ports of this machine.
package enum LocalPort {
    /// A port without a listener.
    package static func free() throws -> UInt16 { try free(count: 1)[0] }

    /// Different ports without a listener.
    package static func free(count: Int) throws -> [UInt16] {
        let servers = try (0..<count).map { _ in try LocalImageServer { _ in .notFound } }
        defer { for server in servers { server.stop() } }
        return servers.map(\.port)
    }

    /// Waits until a process listens on a port of 127.0.0.1.
    /// - Returns: Whether a process listens within the time.
    static func waitUntilOpen(_ port: UInt16, seconds: Int) -> Bool {
        for _ in 0..<seconds * 20 {
            if isOpen(port) { return true }
            usleep(50_000)
        }
        return false
    }

    /// Whether a process listens on a port of 127.0.0.1.
    package static func isOpen(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
