import Glibc

/// A connection to an X server without a window, using X11's protocol and the extension XTEST 2.2. Each request blocks the thread.
final class XConnection {
    /// The numbers of the events that XTEST creates.
    enum Input: UInt8 {
        case keyPress = 2
        case keyRelease = 3
        case buttonPress = 4
        case buttonRelease = 5
        case motion = 6
    }

    let root: UInt32
    let width: Int
    let height: Int
    private let firstKeycode: UInt8
    private let lastKeycode: UInt8
    private let socket: Int32

    /// Connects to a local server without authorization.
    init(display: String) throws {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.socket = socket
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: "/tmp/.X11-unix/X\(display.dropFirst())".utf8.prefix(path.count - 1))
        }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        do {
            guard isConnected else { throw XvfbDisplay.Failure(description: "No X server runs on \(display)") }
            // The client sends little-endian numbers, uses version 11.0, and has no authorization name or data.
            try Self.send([0x6C, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0], to: socket)
            let head = try Self.receive(8, from: socket)
            let setup = try Self.receive(Int(head.number16(at: 6)) * 4, from: socket)
            guard head[0] == 1 else { throw XvfbDisplay.Failure(description: "The X server refuses the connection") }
            (firstKeycode, lastKeycode) = (setup[26], setup[27])
            let vendorLength = (Int(setup.number16(at: 16)) + 3) / 4 * 4
            let screen = 32 + vendorLength + Int(setup[21]) * 8
            root = setup.number32(at: screen)
            width = Int(setup.number16(at: screen + 20))
            height = Int(setup.number16(at: screen + 22))
        } catch {
            close(socket)
            throw error
        }
    }

    deinit {
        close(socket)
    }

    /// The pixels of the screen with 4 bytes each: blue, green, red and an unused one.
    func screenPixels() throws -> [UInt8] {
        // The request is GetImage in the format ZPixmap.
        let reply = try request(
            73,
            data: 2,
            root.bytes + [0, 0, 0, 0] + UInt16(width).bytes + UInt16(height).bytes + UInt32.max.bytes
        )
        guard reply.count >= 32 + width * height * 4 else {
            throw XvfbDisplay.Failure(description: "The X server does not draw 32 bits per pixel")
        }
        return Array(reply[32..<(32 + width * height * 4)])
    }

    /// The key that types a symbol, and whether it needs Shift; `nil` if there is none.
    func key(for symbol: UInt32) throws -> (code: UInt8, needsShift: Bool)? {
        // The request is GetKeyboardMapping.
        let reply = try request(101, [firstKeycode, lastKeycode - firstKeycode + 1, 0, 0])
        let columns = Int(reply[1])
        for column in 0..<min(columns, 2) {
            for row in 0...(Int(lastKeycode) - Int(firstKeycode))
            where reply.number32(at: 32 + (row * columns + column) * 4) == symbol {
                return (firstKeycode + UInt8(row), column == 1)
            }
        }
        return nil
    }

    /// Creates input events in order, as if they came from devices.
    func make(_ events: [(kind: Input, detail: UInt8, x: Int, y: Int)]) throws {
        let name = Array("XTEST".utf8)
        let extensionReply = try request(98, UInt16(name.count).bytes + [0, 0] + name + [0, 0, 0])
        guard extensionReply[8] != 0 else { throw XvfbDisplay.Failure(description: "The X server lacks XTEST") }
        for event in events {
            // The request is FakeInput, without delay, on the only screen.
            let position = Int16(clamping: event.x).bytes + Int16(clamping: event.y).bytes
            let body = [event.kind.rawValue, event.detail, 0, 0] + [UInt8](repeating: 0, count: 16) + position
            try sendRequest(extensionReply[9], data: 2, body + [UInt8](repeating: 0, count: 8))
        }
        // The request is GetInputFocus. When the server answers it, it has handled the events.
        _ = try request(43, [])
    }

    private func sendRequest(_ code: UInt8, data: UInt8, _ body: [UInt8]) throws {
        try Self.send([code, data] + UInt16(1 + body.count / 4).bytes + body, to: socket)
    }

    /// Sends a request, whose length must be a multiple of 4, and returns its reply.
    private func request(_ code: UInt8, data: UInt8 = 0, _ body: [UInt8]) throws -> [UInt8] {
        try sendRequest(code, data: data, body)
        while true {
            let head = try Self.receive(32, from: socket)
            switch head[0] {
            case 0: throw XvfbDisplay.Failure(description: "The X server answers request \(code) with error \(head[1])")
            case 1: return head + (try Self.receive(Int(head.number32(at: 4)) * 4, from: socket))
            // All clients receive this event.
            default: continue
            }
        }
    }

    private static func send(_ bytes: [UInt8], to socket: Int32) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw XvfbDisplay.Failure(description: "The X server has ended") }
            sent += count
        }
    }

    private static func receive(_ count: Int, from socket: Int32) throws -> [UInt8] {
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            while length < count {
                let received = recv(socket, buffer.baseAddress! + length, count - length, 0)
                if received < 0 && errno == EINTR { continue }
                guard received > 0 else { return isWhole = false }
                length += received
            }
        }
        guard isWhole else { throw XvfbDisplay.Failure(description: "The X server has ended") }
        return bytes
    }
}

extension FixedWidthInteger {
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}

extension [UInt8] {
    fileprivate func number16(at index: Int) -> UInt16 { UInt16(self[index]) | UInt16(self[index + 1]) << 8 }

    fileprivate func number32(at index: Int) -> UInt32 {
        UInt32(number16(at: index)) | UInt32(number16(at: index + 2)) << 16
    }
}
