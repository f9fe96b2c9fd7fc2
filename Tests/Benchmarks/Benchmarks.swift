import ArgumentParser

/// Measures the library side by side with programs that everyone can run.
@main
struct Benchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Tests/bench",
        abstract: "Measures the library side by side with other programs; quote the ratios, machines are noisy.",
        subcommands: [
            Downloads.self, Caches.self, Results.self, Loading.self, Decoding.self, Requests.self,
            RequestWorkCommand.self, Binding.self, Scrolling.self, Playing.self, Transforming.self,
            Gate.self,
        ]
    )
}
