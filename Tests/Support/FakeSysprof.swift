internal import CWebImageShims
import Foundation
import Glibc

/// Plays the part of sysprof for a program that it has started: it hears of requests at the other end of a socket and answers them.
package final class FakeSysprof: Sendable {
    /// The end of the socket that the program has.
    package let socket: Int32
    private let ownSocket: Int32

    package init() throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
        (socket, ownSocket) = (ends[0], ends[1])
    }

    deinit {
        close(socket)
        close(ownSocket)
    }

    /// Waits for a request. Blocks the thread.
    /// - Returns: Its bytes; empty when none comes in twenty seconds.
    package func receiveRequest() -> [UInt8] {
        var waiting = pollfd(fd: ownSocket, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 20_000) == 1 else { return [] }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = recv(ownSocket, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(count, 0)))
    }

    /// Answers with descriptors, of which sysprof passes one.
    package func answer(_ files: [Int32]) {
        var byte = UInt8(0)
        withUnsafePointer(to: &byte) { byte in
            var part = gwi_bytes(start: byte, size: 1)
            _ = gwi_message_send(ownSocket, &part, 1, files, files.count, true)
        }
    }

    /// Ends, as sysprof does when its user stops it.
    package func hangUp() {
        shutdown(ownSocket, Int32(SHUT_RDWR))
    }
}
