package import FoundationEssentials
import Glibc

/// A blocking TCP socket on the loopback interface. Interrupted calls are repeated.
package struct ServerSocket: Sendable {
    package let descriptor: Int32

    /// POLLRDHUP (poll(2)), which the Glibc module does not export.
    private static let peerClosed: Int16 = 0x2000

    /// Starts listening on 127.0.0.1. Port 0 selects a free port.
    package static func listen(port: UInt16) throws -> ServerSocket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ServerError("socket", errno) }
        let socket = ServerSocket(descriptor: descriptor)
        socket.set(SO_REUSEADDR, of: SOL_SOCKET, to: Int32(1))
        var address = loopback(port)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound, Glibc.listen(descriptor, 128) == 0 else {
            let error = ServerError("bind to 127.0.0.1:\(port)", errno)
            Glibc.close(descriptor)
            throw error
        }
        return socket
    }

    /// Connects to a server on 127.0.0.1.
    /// - Returns: `nil` if no process listens on the port.
    package static func connect(port: UInt16) -> ServerSocket? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = loopback(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            Glibc.close(descriptor)
            return nil
        }
        return ServerSocket(descriptor: descriptor)
    }

    package var localPort: UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Waits for the next connection.
    /// - Returns: `nil` once the listener is shut down.
    package func acceptConnection() -> ServerSocket? {
        while true {
            let accepted = accept(descriptor, nil, nil)
            if accepted >= 0 {
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                let socket = ServerSocket(descriptor: accepted)
                socket.set(TCP_NODELAY, of: Int32(IPPROTO_TCP), to: Int32(1))
                return socket
            }
            switch errno {
            case EINTR, ECONNABORTED: break
            // Without free descriptors, retry until another thread closes one.
            case EMFILE, ENFILE: poll(nil, 0, 10)
            default: return nil
            }
        }
    }

    /// Waits for bytes.
    /// - Returns: An empty array once the other side has closed the connection.
    package func receive() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 8192)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            return count > 0 ? Array(buffer.prefix(count)) : []
        }
    }

    /// Sends bytes.
    /// - Returns: Whether all bytes were sent.
    package func send(_ data: Data) -> Bool {
        data.withUnsafeBytes { bytes in
            var sent = 0
            let noSignal = Int32(MSG_NOSIGNAL)
            while sent < bytes.count {
                let count = Glibc.send(descriptor, bytes.baseAddress! + sent, bytes.count - sent, noSignal)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    /// Waits for a gate, for a time, or until the other side closes the connection, which always ends the wait.
    /// - Returns: Whether the connection is still open.
    func wait(for gate: ServerGate? = nil, milliseconds: Int32 = -1) -> Bool {
        let gone = Self.peerClosed | Int16(POLLHUP | POLLERR)
        var set = [pollfd(fd: descriptor, events: gone, revents: 0)]
        if let gate { set.append(pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0)) }
        while poll(&set, nfds_t(set.count), milliseconds) < 0 {
            guard errno == EINTR else { return false }
        }
        return set[0].revents & gone == 0
    }

    /// Shuts down both directions, and ends the calls of other threads that wait for this socket.
    package func shutDown() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Closes the socket.
    /// - Parameter isReset: Whether the other side receives a reset (RST). Default: false.
    package func close(isReset: Bool = false) {
        if isReset { set(SO_LINGER, of: SOL_SOCKET, to: linger(l_onoff: 1, l_linger: 0)) }
        Glibc.close(descriptor)
    }

    private func set<T: BitwiseCopyable>(_ option: Int32, of level: Int32, to value: T) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<T>.size))
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

/// The reason why a server could not be started.
struct ServerError: Error, CustomStringConvertible {
    /// The failed call and its cause.
    let description: String

    init(_ call: String, _ number: Int32) {
        description = "\(call): \(String(cString: strerror(number)))"
    }
}
