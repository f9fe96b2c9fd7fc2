internal import CWebImageShims
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// A named span of time on the timeline of sysprof.
struct SysprofMark: Sendable {
    let name: String
    let message: String
    /// Nanoseconds of CLOCK_MONOTONIC.
    let start: Int64
    let duration: Duration
}

/// The path of marks into sysprof, when it has started the program: `sysprof-cli -- app`.
///
/// sysprof passes a socket in the environment (`SYSPROF_CONTROL_FD`), over which libsysprof-capture, a static library in GTK and GLib,
/// asks for a ring buffer. This does the same, so that apps need not be built with that library.
final class SysprofConnection: Sendable {
    /// The buffer, which sysprof empties.
    ///
    /// @unchecked: it is used with the lock of the connection held.
    private final class Ring: @unchecked Sendable {
        private let pointer: OpaquePointer

        init?(_ file: Int32) {
            guard let pointer = gwi_sysprof_ring_new(file) else { return nil }
            self.pointer = pointer
        }

        deinit {
            gwi_sysprof_ring_free(pointer)
        }

        /// - Returns: Whether there was room.
        func add(_ mark: SysprofMark) -> Bool {
            SysprofConnection.group.withCString { group in
                mark.name.withCString { name in
                    mark.message.withCString { message in
                        var native = gwi_sysprof_mark(
                            time: mark.start,
                            duration: Int64(bounded: mark.duration / .nanoseconds(1)),
                            group: group,
                            name: name,
                            message: message
                        )
                        return gwi_sysprof_ring_mark(pointer, &native)
                    }
                }
            }
        }
    }

    private enum Phase {
        /// The marks so far, until sysprof has answered.
        case waiting([SysprofMark])
        case open(Ring)
        case closed
    }

    private struct State {
        var phase = Phase.waiting([])
        var lostCount = 0
    }

    private static let group = "GtkWebImage"
    private static let waitingLimit = 10_000

    private let state = Mutex(State())

    /// - Parameters:
    ///   - control: The socket of sysprof, which stays open since GTK uses it, too.
    ///   - longestWait: How long sysprof may take to answer. Default: two seconds.
    init(control: Int32, longestWait: Duration = .seconds(2)) {
        startOptionalWork { [self] in connect(to: control, longestWait) }
    }

    /// The socket that sysprof has passed to this process; `nil` when it has not started it.
    static var inheritedSocket: Int32? { socket(named: getenv("SYSPROF_CONTROL_FD").map { String(cString: $0) }) }

    /// The socket with a number; `nil` for another file that happens to have it.
    static func socket(named number: String?) -> Int32? {
        guard let descriptor = number.flatMap({ Int32($0) }), isStreamSocket(descriptor) else { return nil }
        return descriptor
    }

    private static func isStreamSocket(_ descriptor: Int32) -> Bool {
        func option(_ name: Int32) -> Int32? {
            var (value, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
        }
        return option(SO_DOMAIN) == AF_UNIX && option(SO_TYPE) == Int32(SOCK_STREAM.rawValue)
    }

    /// Whether sysprof has given a buffer; `nil` until it is known.
    var isOpen: Bool? {
        state.withLock { state in
            switch state.phase {
            case .waiting: nil
            case .open: true
            case .closed: false
            }
        }
    }

    /// The number of marks for which there was no room.
    var lostCount: Int { state.withLock { $0.lostCount } }

    func add(_ mark: SysprofMark) {
        state.withLock { state in
            switch state.phase {
            case .waiting(var marks):
                guard marks.count < Self.waitingLimit else { return state.lostCount += 1 }
                // The array is not copied while nothing else has it.
                state.phase = .closed
                marks.append(mark)
                state.phase = .waiting(marks)
            case .open(let ring):
                if !ring.add(mark) { state.lostCount += 1 }
            case .closed: break
            }
        }
    }

    /// Asks for a buffer, on a thread of its own, since sysprof may not answer.
    private func connect(to control: Int32, _ longestWait: Duration) {
        let ring = Self.requestRing(from: control, longestWait)
        state.withLock { state in
            if case .waiting(let marks) = state.phase, let ring {
                for mark in marks where !ring.add(mark) { state.lostCount += 1 }
            }
            state.phase = ring.map { .open($0) } ?? .closed
        }
        if ring == nil {
            WebImageLog.notice("sysprof gives no buffer for marks, so that it does not show the stages of loads")
        }
    }

    private static func requestRing(from control: Int32, _ longestWait: Duration) -> Ring? {
        // The zero at the end belongs to the message.
        let message = Array("CreatRing\0".utf8)
        guard send(control, message, message.count, Int32(MSG_NOSIGNAL)) == message.count else { return nil }
        var waiting = pollfd(fd: control, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, longestWait.timeoutMilliseconds) == 1, waiting.revents & Int16(POLLIN) != 0 else {
            return nil
        }
        var (byte, descriptor) = (UInt8(0), Int32(-1))
        guard gwi_message_receive(control, &byte, 1, &descriptor, 1) >= 0, descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return Ring(descriptor)
    }
}
