import Foundation
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// The main thread takes locks that other threads of the library take. On a busy machine a thread of lower priority may not
/// run for half a second, and would hold a lock meanwhile.
@Suite("The priority of threads")
struct ThreadPriorityTests {
    /// The niceness and the policy of each thread of the library, by name (proc(5), /proc/pid/stat).
    private var threads: [(name: String, niceness: Int, policy: Int)] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.compactMap { task in
            guard let line = try? String(contentsOfFile: "/proc/self/task/\(task)/stat", encoding: .utf8),
                let open = line.firstIndex(of: "("), let end = line.lastIndex(of: ")")
            else { return nil }
            let name = String(line[line.index(after: open)..<end])
            let fields = line[line.index(end, offsetBy: 2)...].split(separator: " ")
            guard name.hasPrefix("gwi-"), fields.count > 38, let nice = Int(fields[16]), let policy = Int(fields[38])
            else { return nil }
            return (name, nice, policy)
        }
    }

    @Test("No thread that shares a lock with the main thread has a lower priority than that")
    func niceness() async throws {
        let folder = TemporaryDirectory()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = .init(directory: folder.path)
        let manager = ImageManager(configuration: configuration)
        let data = TestImage.solid(1, size: PixelSize(width: 50, height: 40))
        let server = try LocalImageServer { _ in .ok(data, contentType: "image/png") }
        _ = try await manager.image(for: server.url("/a.png"))
        let own = Int(getpriority(Int32(PRIO_PROCESS.rawValue), 0))
        let found = threads
        #expect(Set(found.map(\.name)).isSuperset(of: ["gwi-io", "gwi-decode"]), "\(found)")
        #expect(found.allSatisfy { $0.niceness <= own }, "\(found)")
        // Decoding does not preempt the main thread when it wakes up (SCHED_BATCH).
        #expect(found.filter { $0.name == "gwi-decode" }.allSatisfy { $0.policy == 3 }, "\(found)")
    }
}
