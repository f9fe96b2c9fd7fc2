package import Foundation
import Glibc

/// A port on 127.0.0.1 that refuses connections as long as this object exists. A port that is merely free may be taken by
/// another process in the meantime.
package final class ClosedPort {
    package let port: UInt16
    private let socket: Int32

    package init() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 ? getsockname(socket, address, &length) : -1
            }
        }
        guard status == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        (self.socket, port) = (socket, UInt16(bigEndian: address.sin_port))
    }

    deinit {
        close(socket)
    }

    package func url(_ path: String) -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)")!
    }
}
