/// Measurements of several rivals that take turns.
struct Rounds {
    private(set) var seconds: [String: [Double]] = [:]
    private var order: [String] = []

    mutating func measure(_ name: String, _ body: () throws -> Void) rethrows {
        let time = try ContinuousClock().measure { try body() }
        add(name, seconds: time / .seconds(1))
    }

    /// Adds a time that the rival has measured itself.
    mutating func add(_ name: String, seconds time: Double) {
        if seconds[name] == nil { order.append(name) }
        seconds[name, default: []].append(time)
    }

    /// The median of the ratios within each round.
    func ratio(_ name: String, to other: String) -> Double {
        let pairs = zip(seconds[name] ?? [], seconds[other] ?? [])
        return Self.median(pairs.map { $0 / $1 })
    }

    /// A line for each rival: the median and the best.
    func table() -> String {
        order.map { name in
            let times = seconds[name] ?? []
            let padded = name.padding(26)
            return "\(padded) median \(Self.format(Self.median(times))) s, best \(Self.format(times.min() ?? 0)) s"
        }.joined(separator: "\n")
    }

    static func median(_ numbers: [Double]) -> Double {
        let sorted = numbers.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// Formats a number with three decimals.
    static func format(_ number: Double) -> String {
        let thousandths = Int((abs(number) * 1000).rounded())
        let decimals = String(thousandths % 1000)
        let zeros = String(repeating: "0", count: 3 - decimals.count)
        return "\(number < 0 ? "-" : "")\(thousandths / 1000).\(zeros)\(decimals)"
    }
}

extension String {
    fileprivate func padding(_ length: Int) -> String {
        self + String(repeating: " ", count: max(0, length - count))
    }
}
