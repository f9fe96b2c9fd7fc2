import Foundation
import Synchronization
package import Testing

extension Trait where Self == BlockingTests {
    /// The tests wait for processes or for other threads with a thread of theirs.
    package static var blocking: Self { Self() }
}

/// Runs tests that block their thread on threads apart from the cooperative thread pool.
///
/// The pool has only as many threads as there are processors. Two tests that wait for a program can block all of them for minutes,
/// and no other test makes progress then.
package struct BlockingTests: SuiteTrait, TestTrait {
    package var isRecursive: Bool { true }
}

// Before Swift 6.1 a trait cannot run a test, and such tests share the threads of the others.
#if compiler(>=6.1)
    extension BlockingTests: TestScoping {
        package func provideScope(
            for test: Test,
            testCase: Test.Case?,
            performing function: @Sendable () async throws -> Void
        ) async throws {
            try await withTaskExecutorPreference(BlockableThreads.shared) {
                let start = ContinuousClock.now
                defer { TestTimes.add(test, start.duration(to: .now)) }
                try await function()
            }
        }
    }
#endif

/// Where Tests/run reads how long the tests of a suite had a thread. The times that `swift test` prints are longer: they begin when
/// a test is in line for one.
private enum TestTimes {
    private static let file = ProcessInfo.processInfo.environment["GWI_TEST_TIMES"]
        .flatMap { FileHandle(forWritingAtPath: $0) }

    static func add(_ test: Test, _ time: Duration) {
        guard !test.isSuite else { return }
        file?.write(Data("\(time / .seconds(1)) \(test.sourceLocation.fileID)\n".utf8))
    }
}

/// Threads that may wait. One more than the two processors that the tests are meant for, because programs wait, too.
private final class BlockableThreads: TaskExecutor {
    static let shared = BlockableThreads(count: 3)

    private let jobs = Mutex<[UnownedJob]>([])
    private let available = DispatchSemaphore(value: 0)

    private init(count: Int) {
        for _ in 0..<count {
            let thread = Thread { [self] in while true { runNext() } }
            // The stack of a main thread, which tests of deep files expect.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        available.signal()
    }

    private func runNext() {
        available.wait()
        let job = jobs.withLock { $0.removeFirst() }
        job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
