import TestSupport
import TestTraits
import Testing
import WebImageTesting

/// The allocations that common operations may take in a debug build, each measured in a process of its own. A change that
/// needs more raises the number here and says why; one that needs fewer lowers it.
@Suite("Allocation budgets", .blocking, .serialized)
struct AllocationTests {
    @Test(
        "An operation stays within its budget of allocations",
        arguments: [
            ("hit", 4.1), ("bind", 3.1),
            // Each of many loads also waits for its turn to enter the graph, which takes 5 allocations in a release build, and some
            // more where the machine is busy and the turns are many.
            ("miss", 75), ("coalesced", 147), ("load", 236),
            // This counts only the allocations of the main thread.
            ("start", 6.1),
            // A load that joins its job before it is cancelled takes 93, one that does not takes 5.
            ("cancelled", 94),
        ]
    )
    func budget(operation: String, budget: Double) throws {
        let result = try ChildProcess.run(BuiltProgram.path("AllocationWorker"), [operation])
        let count = try #require(result.output.split(separator: "\n").last.flatMap { Double($0) }, "\(result.output)")
        #expect(count <= budget, "\(operation) takes \(count) allocations, its budget is \(budget)")
        #expect(count > 0, "nothing was measured")
    }
}
