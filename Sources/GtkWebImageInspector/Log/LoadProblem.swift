import GtkWebImage

/// A reason to look at a load.
enum LoadProblem: String, CaseIterable {
    case failed = "Failed"
    case slow = "Slow"
    case tooLarge = "Too large"

    /// Why a load has the problem, and what helps; `nil` for an error, which says it itself, and before the end of a load.
    func advice(for line: LoadLine) -> String? {
        switch self {
        case .failed: return nil
        case .slow:
            guard let queued = line.queuedDuration else { return nil }
            let stages = LoadStage.allCases.map { (name: $0.rawValue, time: line.duration(of: $0)) }
            let longest = stages.reduce((name: "Queued", time: queued)) { $1.time > $0.time ? $1 : $0 }
            return "\(longest.name) took \(longest.time.inMilliseconds)"
        case .tooLarge:
            let (file, shown) = (line.naturalSize?.text ?? "", line.pixelSize?.text ?? "")
            return "The file has \(file) pixels, \(shown) are shown. Request a smaller file, as with ImageVariants"
        }
    }
}

extension LoadLine {
    /// The problems of the load.
    func problems(now: ContinuousClock.Instant) -> [LoadProblem] {
        var problems: [LoadProblem] = []
        switch state {
        case .cancelled: return []
        case .failed: problems.append(.failed)
        case .running, .delivered: break
        }
        if (end ?? now) - start >= .seconds(1) { problems.append(.slow) }
        if oversize != nil { problems.append(.tooLarge) }
        return problems
    }

    /// How many times the file is wider than its decoded image. `nil` for drawings, below four times, and below four megapixels, where
    /// a smaller file saves little.
    var oversize: Int? {
        guard let naturalSize, let pixelSize, format != .svg, format != .pdf else { return nil }
        let factor = (Double(naturalSize.pixelCount) / Double(max(pixelSize.pixelCount, 1))).squareRoot()
        return factor >= 4 && naturalSize.pixelCount >= 4_000_000 ? Int(factor) : nil
    }
}

/// The loads that the list shows, and their order.
struct LoadFilter {
    /// The order of the list. The names are its choices.
    enum Order: String, CaseIterable {
        case newest = "Newest"
        case slowest = "Slowest"
        case largest = "Largest"
    }

    /// A part of the URL, in any case. Default: every URL.
    var text = ""
    /// The problem of all loads. Default: loads with and without problems.
    var problem: LoadProblem?
    var order = Order.newest

    /// The loads that pass, in order.
    func apply(to lines: [LoadLine], now: ContinuousClock.Instant) -> [LoadLine] {
        let text = text.lowercased()
        let passed = lines.filter { line in
            (problem.map { line.problems(now: now).contains($0) } ?? true)
                && (text.isEmpty || line.address.lowercased().contains(text))
        }
        return switch order {
        case .newest: passed.sorted { ($0.start, $0.id) > ($1.start, $1.id) }
        case .slowest: passed.sorted { ($0.end ?? now) - $0.start > ($1.end ?? now) - $1.start }
        case .largest: passed.sorted { $0.receivedByteCount > $1.receivedByteCount }
        }
    }
}
