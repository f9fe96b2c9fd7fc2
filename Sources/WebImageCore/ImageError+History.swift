public import FoundationEssentials

// What was tried before an error was reported. A load that succeeds pays nothing for it.
extension ImageError {
    /// A try of a load that failed: one call of a loader and the decoding of what it brought, or the reason why there was none.
    public struct Attempt: Sendable {
        /// The URL that was tried: the one requested, that of a variant or for metered networks, or a fallback.
        public let url: URL
        /// Why it failed. Its own ``ImageError/history`` is empty.
        public let error: ImageError
        /// When it began.
        public let date: Date
        /// How long it took.
        public let duration: Duration

        init(_ error: ImageError, of url: URL, from start: Date?, to end: Date) {
            self.url = url
            date = start ?? end
            duration = .bounded(seconds: max(end.timeIntervalSince(date), 0))
            var error = error
            error.attemptList = nil
            self.error = error
        }
    }

    /// The attempts in a place of their own, since few errors are looked at so closely. Nearly every error has one.
    final class AttemptList: Sendable {
        let earlier: [Attempt]
        let last: Attempt

        init(_ earlier: [Attempt], _ last: Attempt) {
            self.earlier = earlier
            self.last = last
        }
    }

    /// The largest number of attempts that are kept.
    static let historyLimit = 64

    /// All that was tried, in order: each retry of a URL, then its fallbacks with theirs, up to the attempt that ended in this error.
    ///
    /// Empty if nothing was tried: the load was cancelled or had no URL. Of more than 64 attempts, the first ones and the last one
    /// are kept.
    public var history: [Attempt] { attemptList.map { $0.earlier + [$0.last] } ?? [] }

    /// The error and its ``history`` as a tree, a line for each URL and each attempt, for logs and bug reports. URLs are without
    /// what may be secret.
    ///
    ///     print(error.report)
    public var report: String {
        guard let first = history.first else { return description }
        var groups: [(url: URL, attempts: [Attempt])] = []
        for attempt in history {
            if groups.last?.url == attempt.url {
                groups[groups.count - 1].attempts.append(attempt)
            } else {
                groups.append((attempt.url, [attempt]))
            }
        }
        var lines = [description]
        for (number, group) in groups.enumerated() {
            let isLast = number == groups.count - 1
            lines.append("\(isLast ? "└" : "├")─ <\(group.url.textForMessages)>")
            for (number, attempt) in group.attempts.enumerated() {
                let branch = number == group.attempts.count - 1 ? "└" : "├"
                let start = Duration.bounded(seconds: attempt.date.timeIntervalSince(first.date))
                let error = attempt.error
                lines.append(
                    "\(isLast ? " " : "│")  \(branch)─ after \(start.inSeconds), took \(attempt.duration.inSeconds): "
                        + "\(error.reason) (\(error.code)\(error.isRemembered ? ", remembered" : ""))"
                )
            }
        }
        return lines.joined(separator: "\n")
    }

    /// The error at the end of a load.
    /// - Parameters:
    ///   - attempt: The attempt that it ended.
    ///   - earlier: What was tried before.
    func ending(_ attempt: Attempt, after earlier: [Attempt]) -> ImageError {
        guard !isCancelled else { return self }
        var error = self
        let kept = earlier.count < Self.historyLimit ? earlier : Array(earlier.prefix(Self.historyLimit - 1))
        error.attemptList = AttemptList(kept, attempt)
        return error
    }

    /// The error of a load that was begun because another one had failed.
    func following(_ earlier: ImageError?) -> ImageError {
        guard let earlier, let list = attemptList else { return self }
        return ending(list.last, after: earlier.history + list.earlier)
    }
}

extension Duration {
    /// The duration in seconds with two digits after the point.
    fileprivate var inSeconds: String {
        let hundredths = Int(bounded: (self / .milliseconds(10)).rounded())
        let digits = "\(abs(hundredths) % 100)"
        return "\(hundredths < 0 ? "-" : "")\(abs(hundredths) / 100).\(digits.count < 2 ? "0" : "")\(digits) s"
    }
}
