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
            ("hit", 4.1), ("miss", 57.1), ("coalesced", 130), ("bind", 3.1),
            // A fetch also has the tasks that want its bytes, the response its head, and the task a look at who observes it.
            ("load", 176.2),
            // This counts only the allocations of the main thread.
            ("start", 10.1),
            // A load that joins its job before it is cancelled takes 93, one that does not takes 11.
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
