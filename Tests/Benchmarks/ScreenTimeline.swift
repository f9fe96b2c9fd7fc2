import Foundation
import Synchronization
import WebImageCore

/// When the loads of some URLs took each step.
final class ScreenTimeline: Sendable {
    private let urls: [URL]
    private let events = Mutex<[LoadTraceEvent]>([])
    private let observation = Mutex<ObservationToken?>(nil)

    init(_ urls: some Sequence<URL>, of manager: ImageManager) {
        self.urls = Array(urls)
        let wanted = Set(self.urls)
        let token = manager.observe { [weak self] event in
            if wanted.contains(event.url) { self?.events.withLock { $0.append(event) } }
        }
        observation.withLock { $0 = token }
    }

    /// Prints a line for each URL, with milliseconds.
    func printSteps(since start: ContinuousClock.Instant) {
        let events = events.withLock { $0 }
        for url in urls {
            let steps = events.filter { $0.url == url }.map { event in
                let name = "\(event.kind)".prefix { $0 != "(" }
                return "\(name) \(Rounds.format((event.time - start) / .milliseconds(1)))"
            }
            print("\(url.lastPathComponent): \(steps.joined(separator: ", "))")
        }
    }
}
