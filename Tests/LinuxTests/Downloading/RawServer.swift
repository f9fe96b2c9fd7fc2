import Foundation
import Glibc

/// A server for what ``LocalImageServer`` does not do: its closure reads and writes the bytes of each connection itself.
final class RawServer: Sendable {
    let port: UInt16
    private let descriptor: Int32

    /// - Parameter serve: Serves a connection, on a thread of the server; the connection is closed when it returns.
    init(_ serve: @escaping @Sendable (Connection) -> Void) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A small buffer lets the client wait for a slow reader.
        var size: Int32 = 32 << 10
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | listen(descriptor, 16) | getsockname(descriptor, $0, &length)
            }
        }
        guard code == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        self.descriptor = descriptor
        Thread.detachNewThread {
            while case let client = accept(descriptor, nil, nil), client >= 0 {
                serve(Connection(descriptor: client))
                close(client)
            }
            close(descriptor)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// The connection of a client.
    struct Connection {
        let descriptor: Int32

        /// Reads a head, and returns its text; what follows it stays unread.
        func readHead() -> String {
            var head: [UInt8] = []
            var byte: UInt8 = 0
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), recv(descriptor, &byte, 1, 0) == 1 {
                head.append(byte)
            }
            return String(decoding: head, as: UTF8.self)
        }

        /// Reads at most a number of bytes, and returns how many there were; 0 at the end.
        func read(_ count: Int) -> Int {
            var bytes = [UInt8](repeating: 0, count: count)
            return max(0, recv(descriptor, &bytes, count, 0))
        }

        func write(_ text: String) {
            let bytes = Array(text.utf8)
            send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }

        /// Waits as a slow server does.
        func pause(milliseconds: Int32) { poll(nil, 0, milliseconds) }
    }
}
