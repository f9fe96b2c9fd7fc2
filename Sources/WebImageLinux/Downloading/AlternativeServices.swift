import FoundationEssentials
import WebImageCore

/// The origins that offer HTTP/3, and how their endpoints have answered so far.
///
/// The first request to an endpoint is a trial, while others still use TCP. An endpoint that does not answer is set
/// aside for five minutes, and for twice as long each time that it fails again.
struct AlternativeServices {
    /// The scheme is always https: an offer over cleartext could come from anyone.
    struct Origin: Hashable {
        let host: String
        let port: Int

        init?(_ url: URL) {
            guard url.scheme?.lowercased() == "https", let host = url.host()?.lowercased(), !host.isEmpty else {
                return nil
            }
            self.host = host
            port = url.port ?? 443
        }

        fileprivate init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// How an exchange with an endpoint has ended.
    enum Answer {
        /// The endpoint has answered.
        case answered
        /// No connection came about.
        case unreachable
        /// The connection failed.
        case failed
        /// A time limit of the app was reached.
        case timedOut
    }

    private enum State {
        case untried
        case onTrial
        case confirmed
        case setAside(since: Date, seconds: Double)
    }

    private struct Entry {
        var service: AlternativeService
        var expiry: Date
        var state = State.untried
        var failureCount = 0
    }

    /// The number of origins that are remembered; those that expire first are forgotten first.
    private static let limit = 500
    private static let longestPause = 172_800.0

    private var entries: [Origin: Entry] = [:]
    private let now: @Sendable () -> Date

    init(now: @escaping @Sendable () -> Date = { Date() }) {
        self.now = now
    }

    /// The endpoint for the next request; `nil` for TCP. A caller that gets one reports how the endpoint answered.
    mutating func endpoint(for origin: Origin) -> AlternativeService? {
        guard let entry = entries[origin] else { return nil }
        let now = now()
        guard entry.expiry > now else {
            entries[origin] = nil
            return nil
        }
        switch entry.state {
        case .confirmed: return entry.service
        case .onTrial: return nil
        case .setAside(let start, let seconds) where isPaused(start, seconds): return nil
        case .untried, .setAside:
            entries[origin]?.state = .onTrial
            return entry.service
        }
    }

    /// Takes note of an offer.
    /// - Returns: Whether it is news, apart from its age.
    mutating func learn(_ offer: AlternativeService.Offer, of origin: Origin) -> Bool {
        guard case .service(let service) = offer, service.maximumAge > 0 else {
            return entries.removeValue(forKey: origin) != nil
        }
        let expiry = now().addingTimeInterval(Double(service.maximumAge))
        if let known = entries[origin]?.service, known.host == service.host, known.port == service.port {
            entries[origin]?.expiry = expiry
            return false
        }
        entries[origin] = Entry(service: service, expiry: expiry)
        if entries.count > Self.limit, let first = entries.min(by: { $0.value.expiry < $1.value.expiry }) {
            entries[first.key] = nil
        }
        return true
    }

    /// Takes note of how the endpoint has answered. One that has answered before is set aside only when it cannot be
    /// reached any more.
    /// - Returns: Whether the request should be repeated over TCP.
    mutating func note(_ answer: Answer, of origin: Origin) -> Bool {
        var isConfirmed = false
        if case .confirmed = entries[origin]?.state { isConfirmed = true }
        switch answer {
        case .answered:
            confirm(origin)
            return false
        case .unreachable:
            setAside(origin)
            return true
        case .failed:
            if !isConfirmed { setAside(origin) }
            return !isConfirmed
        case .timedOut:
            if !isConfirmed { setAside(origin) }
            return false
        }
    }

    mutating func confirm(_ origin: Origin) {
        entries[origin]?.state = .confirmed
        entries[origin]?.failureCount = 0
    }

    mutating func setAside(_ origin: Origin) {
        guard let entry = entries[origin] else { return }
        // Requests that were under way together fail together.
        if case .setAside(let start, let seconds) = entry.state, isPaused(start, seconds) { return }
        let count = entry.failureCount
        let pause = min(300 * Double(1 << min(count, 16)), Self.longestPause)
        entries[origin]?.state = .setAside(since: now(), seconds: pause)
        entries[origin]?.failureCount = count + 1
    }

    /// Whether a pause is not over. One that seems to begin in the future began before the clock was set back.
    private func isPaused(_ start: Date, _ seconds: Double) -> Bool {
        (0..<seconds).contains(now().timeIntervalSince(start))
    }

    /// Ends a trial without a result, because its request was cancelled.
    mutating func abandonTrial(of origin: Origin) {
        if case .onTrial = entries[origin]?.state { entries[origin]?.state = .untried }
    }

    // The file has the format of libcurl's CURLOPT_ALTSVC, so that other programs can read it:
    //     h2 example.org 443 h3 example.org 8443 "20261122 18:30:00" 0 0

    /// The lines of the file, in a stable order.
    var fileContents: String {
        let lines = entries.filter { $0.value.expiry > now() }.map { origin, entry in
            let host = entry.service.host.isEmpty ? origin.host : entry.service.host
            let date = Self.format(entry.expiry)
            return "h2 \(origin.host) \(origin.port) h3 \(host) \(entry.service.port) \"\(date)\" 0 0\n"
        }
        return lines.sorted().joined()
    }

    /// Adds the offers of a file. Lines that are damaged or expired are left out.
    mutating func read(_ contents: String) {
        for line in contents.split(separator: "\n").prefix(Self.limit) {
            let fields = line.split(separator: " ")
            guard fields.count >= 8, fields[3] == "h3", let port = Int(fields[2]), (1...65535).contains(port),
                let expiry = Self.date("\(fields[6]) \(fields[7])"), expiry > now()
            else { continue }
            let origin = Origin(host: String(fields[1]), port: port)
            let host = fields[4] == fields[1] ? "" : fields[4]
            guard case .service(let service) = AlternativeService.offer(in: "h3=\"\(host):\(fields[5])\"") else {
                continue
            }
            entries[origin] = Entry(service: service, expiry: expiry)
        }
    }

    private static func format(_ date: Date) -> String {
        let parts = Calendar.utc.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func digits(_ value: Int?, _ count: Int) -> String {
            let text = String(value ?? 0)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2)
        return "\(day) \(digits(parts.hour, 2)):\(digits(parts.minute, 2)):\(digits(parts.second, 2))"
    }

    private static func date(_ text: String) -> Date? {
        let digits = text.utf8.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.map { Int($0) - 48 }
        guard digits.count == 14 else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        let parts = DateComponents(
            year: number(0..<4),
            month: number(4..<6),
            day: number(6..<8),
            hour: number(8..<10),
            minute: number(10..<12),
            second: number(12..<14)
        )
        return Calendar.utc.date(from: parts)
    }
}

extension Calendar {
    fileprivate static let utc: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()
}
