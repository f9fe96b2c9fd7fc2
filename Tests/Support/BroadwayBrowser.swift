import Foundation
import Glibc
import Synchronization
import WebImageCore
import WebImageTesting

/// A client that takes the place of Broadway's page in a browser: it answers round trips and reports the positions of
/// windows (gdk/broadway/broadway.js and broadway-protocol.h of GTK 4.8).
final class BroadwayBrowser: Sendable {
    private struct Surface {
        var x = 0
        var y = 0
        var width = 0
        var height = 0
        var isVisible = false
    }

    private struct State {
        var surfaces: [Int: Surface] = [:]
        /// The surfaces from the bottom to the top.
        var order: [Int] = []
        var lastSerial: UInt32 = 0
        var isClosed = false
        var roundTripCount = 0
    }

    /// The numbers of the events that the page sends.
    private enum Event: UInt32 {
        case enter = 0
        case pointerMove = 2
        case buttonPress = 3
        case buttonRelease = 4
        case keyPress = 7
        case keyRelease = 8
        case grabNotify = 9
        case ungrabNotify = 10
        case configureNotify = 11
        case screenSizeChanged = 12
        case roundTripNotify = 14
    }

    private let socket: ServerSocket
    private let state = Mutex(State())

    /// Connects and starts answering.
    /// - Returns: nil if no Broadway daemon listens on the port.
    init?(port: UInt16, width: Int, height: Int) {
        guard let socket = ServerSocket.connect(port: port) else { return nil }
        self.socket = socket
        let request = """
            GET /socket HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
            Sec-WebSocket-Version: 13\r
            Sec-WebSocket-Protocol: broadway\r
            \r\n
            """
        guard socket.send(Data(request.utf8)), let rest = Self.readHandshake(socket) else {
            socket.close()
            return nil
        }
        resize(width: width, height: height)
        let thread = Thread { [self] in read(rest) }
        thread.name = "gwi-browser"
        thread.start()
    }

    var roundTripCount: Int { state.withLock { $0.roundTripCount } }

    /// The visible windows from the bottom to the top, in application pixels of the page.
    var windows: [PixelRect] {
        state.withLock { state in
            state.order.compactMap { state.surfaces[$0] }.filter(\.isVisible).map {
                PixelRect(x: $0.x, y: $0.y, width: $0.width, height: $0.height)
            }
        }
    }

    /// Changes the size of the page, as a user does with the window of a browser.
    func resize(width: Int, height: Int) {
        send(.screenSizeChanged, [width, height, 1])
    }

    func stop() {
        // Once the thread has closed the socket, its descriptor may be in use for something else.
        state.withLock { state in
            if !state.isClosed { socket.shutDown() }
        }
    }

    func click(x: Int, y: Int, button: Int) {
        let found = state.withLock { state in
            state.order.last { state.surfaces[$0]?.isVisible == true }.flatMap { id in
                state.surfaces[id].map { (id, $0) }
            }
        }
        guard let (id, surface) = found else { return }
        let position = [id, id, surface.x + x, surface.y + y, x, y, 0]
        send(.enter, position + [0])
        send(.pointerMove, position)
        send(.buttonPress, position + [button])
        // The modifier state says that the button is held; that of the first one is GDK_BUTTON1_MASK.
        send(.buttonRelease, position.dropLast() + [1 << (7 + button), button])
    }

    func press(key: Int, modifiers: Int) {
        send(.keyPress, [key, modifiers])
        send(.keyRelease, [key, modifiers])
    }

    private static func readHandshake(_ socket: ServerSocket) -> [UInt8]? {
        var bytes: [UInt8] = []
        let end: [UInt8] = [13, 10, 13, 10]
        while bytes.count < 8192 {
            if let index = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) {
                let isUpgraded = String(decoding: bytes.prefix(12), as: UTF8.self) == "HTTP/1.1 101"
                return isUpgraded ? Array(bytes[(index + 4)...]) : nil
            }
            let received = socket.receive()
            if received.isEmpty { return nil }
            bytes += received
        }
        return nil
    }

    /// A WebSocket message of big-endian numbers (RFC 6455); the daemon does not insist on a mask.
    private func send(_ event: Event, _ arguments: [Int]) {
        let serial = state.withLock { $0.lastSerial }
        // The time must advance: two clicks at the same time would be a double click.
        let time = UInt32(truncatingIfNeeded: Int(DispatchTime.now().uptimeNanoseconds / 1_000_000))
        let numbers = [event.rawValue, serial, time] + arguments.map { UInt32(truncatingIfNeeded: $0) }
        var message = Data([0x82, UInt8(numbers.count * 4)])
        for number in numbers { withUnsafeBytes(of: number.bigEndian) { message.append(contentsOf: $0) } }
        _ = socket.send(message)
    }

    private func read(_ first: [UInt8]) {
        var buffer = first
        while true {
            while let (message, length) = Self.firstMessage(buffer) {
                handle(message)
                buffer.removeFirst(length)
            }
            let received = socket.receive()
            if received.isEmpty { break }
            buffer += received
        }
        state.withLock { state in
            state.isClosed = true
            socket.close()
        }
    }

    private static func firstMessage(_ bytes: [UInt8]) -> (ArraySlice<UInt8>, Int)? {
        guard bytes.count >= 2 else { return nil }
        var start = 2
        var length = Int(bytes[1] & 0x7F)
        let extra = length == 126 ? 2 : length == 127 ? 8 : 0
        guard bytes.count >= start + extra else { return nil }
        if extra > 0 { length = bytes[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) } }
        start += extra
        guard bytes.count >= start + length else { return nil }
        return (bytes[start..<(start + length)], start + length)
    }

    /// Handles the commands of a message. Each is a command byte, a serial and arguments, all little-endian.
    private func handle(_ message: ArraySlice<UInt8>) {
        var reader = BroadwayReader(message)
        while let command = reader.next(1), let serial = reader.next(4) {
            state.withLock { $0.lastSerial = UInt32(serial) }
            switch command {
            case 0:  // grab pointer
                reader.skip(3)
                send(.grabNotify, [])
            case 1:  // ungrab pointer
                send(.ungrabNotify, [])
            case 2: addSurface(&reader)
            case 3, 4: setVisible(command == 3, reader.next(2) ?? 0)
            case 5, 6: restack(reader.next(2) ?? 0, toTop: command == 5)
            case 7: removeSurface(reader.next(2) ?? 0)
            case 8: moveSurface(&reader)
            case 9: reader.skip(4)  // transient for
            case 10: return  // disconnected
            case 12: reader.skip(2)  // show keyboard
            case 13:  // upload texture
                reader.skip(4)
                reader.skip(reader.next(4) ?? 0)
            case 14: reader.skip(4)  // release texture
            case 15:  // set nodes
                reader.skip(2)
                reader.skip((reader.next(4) ?? 0) * 4)
            case 16: answerRoundTrip(&reader)
            default: return
            }
        }
    }

    private func answerRoundTrip(_ reader: inout BroadwayReader) {
        guard let id = reader.next(2), let tag = reader.next(4) else { return }
        send(.roundTripNotify, [id, tag])
        state.withLock { $0.roundTripCount += 1 }
    }

    private func addSurface(_ reader: inout BroadwayReader) {
        guard let id = reader.next(2), let x = reader.nextSigned(), let y = reader.nextSigned(),
            let width = reader.next(2), let height = reader.next(2)
        else { return }
        let surface = Surface(x: x, y: y, width: width, height: height)
        state.withLock { state in
            state.surfaces[id] = surface
            state.order.append(id)
        }
        report(id, surface)
    }

    private func moveSurface(_ reader: inout BroadwayReader) {
        guard let id = reader.next(2), let flags = reader.next(1) else { return }
        let position = flags & 1 != 0 ? (reader.nextSigned() ?? 0, reader.nextSigned() ?? 0) : nil
        let size = flags & 2 != 0 ? (reader.next(2) ?? 0, reader.next(2) ?? 0) : nil
        let moved = state.withLock { state -> Surface? in
            guard var surface = state.surfaces[id] else { return nil }
            if let position { (surface.x, surface.y) = position }
            if let size { (surface.width, surface.height) = size }
            state.surfaces[id] = surface
            return surface
        }
        if let moved { report(id, moved) }
    }

    private func report(_ id: Int, _ surface: Surface) {
        send(.configureNotify, [id, surface.x, surface.y, surface.width, surface.height])
    }

    private func setVisible(_ isVisible: Bool, _ id: Int) {
        state.withLock { $0.surfaces[id]?.isVisible = isVisible }
    }

    private func restack(_ id: Int, toTop: Bool) {
        state.withLock { state in
            state.order.removeAll { $0 == id }
            if toTop { state.order.append(id) } else { state.order.insert(id, at: 0) }
        }
    }

    private func removeSurface(_ id: Int) {
        state.withLock { state in
            state.surfaces[id] = nil
            state.order.removeAll { $0 == id }
        }
    }
}

/// Reads consecutive little-endian numbers.
private struct BroadwayReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    mutating func next(_ length: Int) -> Int? {
        guard position + length <= bytes.endIndex else { return nil }
        defer { position += length }
        return bytes[position..<(position + length)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Reads a signed 16-bit number.
    mutating func nextSigned() -> Int? {
        next(2).map { Int(Int16(truncatingIfNeeded: $0)) }
    }

    mutating func skip(_ length: Int) {
        position += length
    }
}
