public import FoundationEssentials

// The attempts before an error was reported. A load that succeeds pays nothing for them.
extension ImageError {
    /// A failed attempt of a load: one call of a loader with the decoding of its bytes, or the reason why it was not called.
    public struct Attempt: Sendable {
        /// The URL of the attempt: the requested URL, a variant, the URL for metered networks, or a fallback.
        public let url: URL
        /// Why the attempt failed. The ``ImageError/attempts`` of this error are empty.
        public let error: ImageError
        /// When the attempt began.
        public let date: Date
        /// How long the attempt took.
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

    /// The attempts, in a separate object because they are rarely read. Nearly every error has one.
    final class AttemptList: Sendable {
        let earlier: [Attempt]
        let last: Attempt

        init(_ earlier: [Attempt], _ last: Attempt) {
            self.earlier = earlier
            self.last = last
        }
    }

    /// The largest number of kept attempts.
    static let historyLimit = 64

    /// All attempts in order: each retry of a URL, then its fallbacks with their retries, up to the one that ended in this error.
    ///
    /// Empty if there was no attempt, because the load was cancelled or had no URL. If there are more than 64 attempts,
    /// only the first ones and the last one are kept.
    public var attempts: [Attempt] { attemptList.map { $0.earlier + [$0.last] } ?? [] }

    /// The error and its ``attempts`` as a tree, with a line for each URL and each attempt, for logs and bug reports.
    /// URLs are printed without secrets.
    ///
    ///     print(error.report)
    public var report: String {
        guard let first = attempts.first else { return description }
        var groups: [(url: URL, attempts: [Attempt])] = []
        for attempt in attempts {
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
    ///   - attempt: The last attempt.
    ///   - earlier: The attempts before it.
    func ending(_ attempt: Attempt, after earlier: [Attempt]) -> ImageError {
        guard !isCancelled else { return self }
        var error = self
        let kept = earlier.count < Self.historyLimit ? earlier : Array(earlier.prefix(Self.historyLimit - 1))
        error.attemptList = AttemptList(kept, attempt)
        return error
    }

    /// The error of a load that was started because another one had failed.
    func following(_ earlier: ImageError?) -> ImageError {
        guard let earlier, let list = attemptList else { return self }
        return ending(list.last, after: earlier.attempts + list.earlier)
    }
}

extension Duration {
    /// The duration in seconds with two decimals.
    fileprivate var inSeconds: String {
        let hundredths = Int(bounded: (self / .milliseconds(10)).rounded())
        let digits = "\(abs(hundredths) % 100)"
        return "\(hundredths < 0 ? "-" : "")\(abs(hundredths) / 100).\(digits.count < 2 ? "0" : "")\(digits) s"
    }
}
