import FoundationEssentials

/// One connection. It answers requests one by one until either side closes it.
struct ServerConnection {
    /// The state of the connection after a response.
    private enum End {
        case keepAlive
        case close
        case reset
    }

    let socket: ServerSocket
    let number: Int
    let answer: (ServerRequest) -> ServerResponse

    private static let headLimit = 65_536

    /// Serves the connection until its end, and blocks the thread. Calls `willClose` right before closing the socket.
    func run(willClose: () -> Void) {
        var buffer: [UInt8] = []
        var end = End.keepAlive
        while case .keepAlive = end, let head = readHead(&buffer) {
            guard let request = ServerRequest(head: head, connection: number) else {
                end = send(.status(400), to: nil)
                break
            }
            end = send(answer(request), to: request)
        }
        willClose()
        if case .reset = end { socket.close(isReset: true) } else { socket.close() }
    }

    private func readHead(_ buffer: inout [UInt8]) -> String? {
        let terminator: [UInt8] = [13, 10, 13, 10]
        while buffer.count < Self.headLimit {
            if let index = buffer.indices.first(where: { buffer[$0...].starts(with: terminator) }) {
                defer { buffer.removeFirst(index + 4) }
                return String(decoding: buffer[..<index], as: UTF8.self)
            }
            let received = socket.receive()
            if received.isEmpty { return nil }
            buffer += received
            // A client that starts a TLS handshake (RFC 8446, section 5.1, type 22) would wait for an answer until it gives up.
            guard buffer.first != 22 else { return nil }
        }
        return nil
    }

    private func send(_ response: ServerResponse, to request: ServerRequest?) -> End {
        let faults = response.faults
        guard passes(faults.gate), pauses(faults.delay) else { return .close }
        if let raw = faults.rawResponse {
            _ = socket.send(raw)
            return .close
        }
        let isHead = request?.method == "HEAD"
        // If the body's length differs from the declared length, the start of the next response is ambiguous.
        let closes =
            faults.endsWithConnection || faults.declaredLength != nil
            || request?.headers["connection"]?.lowercased() == "close"
        guard socket.send(head(of: response, closes: closes)) else { return .close }
        if isHead { return closes ? .close : .keepAlive }
        let end = response.hasBody ? sendBody(response.body, faults) : .keepAlive
        if case .keepAlive = end, closes { return .close }
        return end
    }

    private func head(of response: ServerResponse, closes: Bool) -> Data {
        var text = "HTTP/1.1 \(response.status) \(Self.reason(response.status))\r\n"
        for (name, value) in response.headers { text += "\(name): \(value)\r\n" }
        if !response.hasBody {
            // A Content-Length header would announce a body that does not follow.
        } else if response.faults.isChunked {
            text += "Transfer-Encoding: chunked\r\n"
        } else if !response.faults.endsWithConnection {
            text += "Content-Length: \(response.faults.declaredLength ?? response.body.count)\r\n"
        }
        text += closes ? "Connection: close\r\n\r\n" : "\r\n"
        return Data(text.utf8)
    }

    /// Sends the body up to each fault position, and applies the fault there.
    private func sendBody(_ body: Data, _ faults: ServerFaults) -> End {
        var sent = 0
        var gate = faults.bodyGate
        while true {
            if let limit = faults.resetAfterBytes, sent >= limit { return .reset }
            if let limit = faults.closeAfterBytes, sent >= limit { return .close }
            if let limit = faults.stallAfterBytes, sent >= limit {
                _ = socket.wait()
                return .close
            }
            if let held = gate, sent >= held.afterBytes {
                guard passes(held.gate) else { return .close }
                gate = nil
            }
            guard sent < body.count else { break }
            let positions = [
                faults.resetAfterBytes, faults.closeAfterBytes, faults.stallAfterBytes, gate?.afterBytes,
                faults.drip.map { sent + max(1, $0.bytes) }, faults.pace.map { sent + max(1, $0.bytes) }, body.count,
            ]
            let next = positions.compactMap { $0 }.filter { $0 > sent }.min() ?? body.count
            let piece = body[(body.startIndex + sent)..<(body.startIndex + min(next, body.count))]
            guard socket.send(faults.isChunked ? Self.chunk(piece) : Data(piece)) else { return .close }
            sent += piece.count
            if let drip = faults.drip, sent < body.count, !pauses(drip.every) { return .close }
            if let pace = faults.pace {
                guard let pause = pace.pause(piece.count), pauses(pause) else { return .close }
            }
        }
        if faults.isChunked { _ = socket.send(Data("0\r\n\r\n".utf8)) }
        return .keepAlive
    }

    private static func chunk(_ data: Data) -> Data {
        Data("\(String(data.count, radix: 16))\r\n".utf8) + data + Data("\r\n".utf8)
    }

    private func passes(_ gate: ServerGate?) -> Bool {
        guard let gate else { return true }
        gate.enter()
        defer { gate.leave() }
        return socket.wait(for: gate)
    }

    private func pauses(_ pause: Duration?) -> Bool {
        guard let pause else { return true }
        return socket.wait(milliseconds: Int32(pause / .milliseconds(1)))
    }

    private static func reason(_ status: Int) -> String {
        let reasons = [
            200: "OK", 206: "Partial Content", 302: "Found", 304: "Not Modified", 400: "Bad Request",
            401: "Unauthorized",
            404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
        ]
        return reasons[status] ?? "Status"
    }
}

extension ServerResponse {
    /// Whether a body may follow the head (RFC 9110, section 6.4.1).
    fileprivate var hasBody: Bool { status != 304 && status != 204 }
}
