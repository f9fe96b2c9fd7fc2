import ArgumentParser

/// Measures the library side by side with programs that everyone can run.
@main
struct Benchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Tests/bench",
        abstract: "Measures the library side by side with other programs. Quote ratios, since machines are noisy.",
        subcommands: [
            Downloads.self, Protocols.self, Caches.self, Renditions.self, Loading.self, Rivals.self, Decoding.self,
            Requests.self,
            RequestWorkCommand.self, Queued.self, Binding.self, Scrolling.self, Playing.self, Pages.self,
            Transforming.self, Startup.self, Sandbox.self, Stalls.self, Scale.self, Screen.self, Table.self, Gate.self,
            Limited.self,
        ]
    )
}
