import FoundationEssentials
import Testing

@testable import WebImageCore

@Suite("The state of a progressive decode")
struct ProgressiveDecodingTests {
    @Test("The last bytes are shown although the timer fires while a thread still works on them")
    func timerDuringWork() throws {
        // Given a thread that has fed the first bytes to the decoder
        var decoding = ProgressiveDecoding(pending: [])
        let (options, budget) = (DecodeOptions(), MemoryBudget(limit: 1 << 30))
        let made = try #require(ByteCountingCoder().makeIncrementalDecoder(for: .jpeg, options: options))
        let decoder = BudgetedIncrementalDecoder(made, hasHeader: false, options: options, budget: budget)
        let needsThread = decoding.append(Data(count: 600))
        #expect(needsThread)
        guard case .feed = decoding.nextStep() else {
            Issue.record("the bytes are not fed")
            return
        }
        _ = decoding.setDecoder(.running(decoder))
        // When the timer fires after the thread has found that the last partial image is too recent
        let needsSecondThread = decoding.showNow()
        #expect(!needsSecondThread)
        // Then the thread shows the bytes before it rests
        guard case .show = decoding.nextStep() else {
            Issue.record("the bytes are not shown")
            return
        }
        guard case .rest = decoding.nextStep() else {
            Issue.record("the thread does not rest")
            return
        }
        // When the timer fires afterwards, another thread has to show them
        let needsAnotherThread = decoding.showNow()
        #expect(needsAnotherThread)
    }
}
