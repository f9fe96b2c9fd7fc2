import FoundationEssentials
import Glibc
import TestSupport
import TestTraits
import Testing
import WebImageTesting

/// Each test starts a program, because it needs a process that ends, or one whose functions or limits are its own.
@Suite("Processes that load", .blocking, .serialized)
struct NetworkProcessTests {
    private func run(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess.run(BuiltProgram.path("NetworkWorker"), arguments, environment: environment)
    }

    /// The milliseconds that the program has printed for a load that has succeeded.
    private func time(_ name: String, in output: String) -> Int? {
        let line = output.split(separator: "\n").map { $0.split(separator: " ") }.first { $0.first == name[...] }
        return line.flatMap { $0.count == 3 && $0[1] != "failed" ? Int($0[2]) : nil }
    }

    @Test(
        "A process may exit while images are loaded over https, also if the app has used OpenSSL before",
        arguments: ["exit", "exit-openssl"]
    )
    func exit(mode: String) throws {
        let files = Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0).bin", Data(count: 20_000)) })
        let nginx = try Nginx(files: files)
        let count = ProcessInfo.processInfo.environment["GWI_EXITS"].flatMap { Int($0) } ?? 40
        var generator = SeededGenerator(seed: 1)
        for round in 0..<count {
            // Libraries are initialized in the first milliseconds.
            let delay = Int.random(in: round.isMultiple(of: 2) ? 0...10 : 0...120, using: &generator)
            let process = try run([mode, nginx.url("", .good).absoluteString, nginx.authorityFile, "\(delay)"])
            #expect(process.exitCode == 0, "round \(round), after \(delay) ms: \(process.output)")
        }
    }

    @Test("A proxy that the app has set is for all hosts, also those that no_proxy names")
    func fixedProxy() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 3), contentType: "image/png") }
        let proxy = try LocalImageServer { _ in .ok(Data(count: 5), contentType: "image/png") }
        for name in ["no_proxy", "NO_PROXY"] {
            let process = try run(
                ["proxy", server.url("/a").absoluteString, proxy.baseURL.absoluteString],
                environment: [name: "127.0.0.1"]
            )
            #expect(process.output.hasPrefix("proxied 5 "), "\(process.output)")
        }
        #expect(server.requests.isEmpty && proxy.requests.count == 2)
    }

    @Test(
        "The exit of a process waits for what the library asks the desktop, but not for long",
        arguments: [100, 60_000]
    )
    func exitDuringSetup(milliseconds: Int) throws {
        var output = ""
        let time = try ContinuousClock().measure {
            let process = try ChildProcess.run(BuiltProgram.path("DecodeWorker"), ["\(milliseconds)", "optional"])
            #expect(process.exitCode == 0, "\(process.output)")
            output = process.output
        }
        #expect(output.contains("ended") == (milliseconds < 1000) && time < .seconds(59), "\(time): \(output)")
    }

    @Test("Closures that hold up several network threads delay the exit once")
    func heldExit() throws {
        let time = try ContinuousClock().measure {
            let process = try run(["hold", "http://127.0.0.1:1/a", "24"])
            #expect(process.exitCode == 0, "\(process.output)")
        }
        // The threads get two seconds together, not one after the other.
        #expect(time < .seconds(47))
    }

    @Test(
        "An app opens settings and files while the proxies of the desktop are looked up",
        .enabled(if: GIOModules.proxyModule != nil),
        arguments: ["settings", "file"]
    )
    func modules(opens: String) throws {
        // Given so many modules that GIO loads them for a while
        let modules = try GIOModules()
        for round in 0..<5 {
            // When a program opens something meanwhile, as gtk_init does
            let environment = [
                "GIO_EXTRA_MODULES": modules.folder, "GSETTINGS_BACKEND": "memory",
                // GNOME's resolver opens settings, and that of libproxy, for other desktops, opens files since version 0.5.
                "XDG_CURRENT_DESKTOP": opens == "settings" ? "GNOME" : "",
                "http_proxy": "", "https_proxy": "", "all_proxy": "", "HTTPS_PROXY": "", "ALL_PROXY": "",
            ]
            let process = try run(
                [opens, "http://127.0.0.1:1/a", modules.folder],
                environment: environment
            )
            // Then the two do not wait for each other.
            #expect(process.exitCode == 0 && process.output.contains("opened"), "round \(round): \(process.output)")
        }
    }

    @Test("A name that takes long to look up delays no other host, whether its load is cancelled or times out")
    func slowLookup() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 7), contentType: "image/png") }
        let process = try run(["resolve", server.url("/a").absoluteString, "20"])
        for name in ["cancelled", "late"] {
            let duration = try #require(time(name, in: process.output), "\(process.output)")
            #expect(duration < 5000, "\(name)")
        }
    }

    @Test("Loads that are given up while their name is looked up leave few threads behind, and delay no other host")
    func abandonedLookups() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 7), contentType: "image/png") }
        let process = try run(["abandon", server.url("/a").absoluteString, "100"])
        let words = process.output.split { $0 == " " || $0 == "\n" }
        let count = try #require(words.firstIndex(of: "lookups").flatMap { Int(words[$0 + 1]) }, "\(process.output)")
        let seconds = try #require(words.firstIndex(of: "seconds").flatMap { Int(words[$0 + 1]) }, "\(process.output)")
        #expect((1...(9 + seconds)).contains(count), "\(process.output)")
        #expect(try #require(time("other", in: process.output), "\(process.output)") < 5000)
    }

    @Test("A manager with nothing to do starts no thread that stays but for timers, and reads no list of loaders")
    func managers() throws {
        let folder = TemporaryDirectory()
        let list = "\(folder.path)/loaders.cache"
        #expect(mkfifo(list, 0o600) == 0)
        let process = try run(["manager", "http://127.0.0.1/", list])
        #expect(process.output.contains("threads []"), "\(process.output)")
    }

    @Test("A host that does not exist fails all its loads at once, however many there are")
    func missingHost() throws {
        let process = try run(["missing", "http://missing.example/", "60"])
        let words = process.output.split { $0 == " " || $0 == "\n" }
        let seconds = try #require(words.firstIndex(of: "seconds").flatMap { Int(words[$0 + 1]) }, "\(process.output)")
        // One lookup a second would take most of a minute.
        #expect(seconds < 20, "\(process.output)")
    }

    @Test("A downloader that finds no descriptor free fails, and works as soon as there are some")
    func descriptors() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 7), contentType: "image/png") }
        let process = try run(["descriptors", server.url("/a").absoluteString])
        #expect(process.output.contains("without failed"))
        for round in 0..<3 {
            let duration = try #require(time("with\(round)", in: process.output), "\(process.output)")
            #expect(duration < 5000)
        }
    }

    @Test(
        "Neither cancelled loads nor bodies in files leave descriptors behind",
        arguments: [("cancels", 10_000), ("bodies", 200)]
    )
    func descriptorCount(mode: String, count: Int) throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 5000), contentType: "image/png") }
        let process = try run([mode, server.url("/a").absoluteString, "\(count)"])
        let words = process.output.split { $0 == " " || $0 == "\n" }
        let left = try #require(words.firstIndex(of: "descriptors").flatMap { Int(words[$0 + 1]) }, "\(process.output)")
        // Those of the six connections to a host.
        #expect(left <= 6, "\(process.output)")
    }

    @Test(
        "An interrupted body takes the memory of what has arrived, not of what was announced",
        .disabled(if: getenv("THREAD_SANITIZER") != nil, "The memory of ThreadSanitizer would count")
    )
    func parts() throws {
        let body = Data(count: 2_000_000)
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            response.faults.closeAfterBytes = 30_000
            return response
        }
        let process = try run(["parts", server.url("/a").absoluteString, "200"])
        let growth = process.output.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
        #expect(growth.map { $0 > 200 * 10_000 && $0 < 200 * 60_000 } == true, "\(process.output)")
    }

    @Test("Loads with cookies leave no memory behind")
    func cookies() throws {
        let server = try LocalImageServer { _ in
            ServerResponse(status: 200, headers: [("Set-Cookie", "session=1; Path=/")], body: Data(count: 1))
        }
        let process = try run(["cookies", server.url("/a").absoluteString, "2000"])
        let count = try #require(process.output.split(separator: " ").last.flatMap { Int($0.filter { $0 != "\n" }) })
        // Without the share of a load, each left some hundred bytes.
        #expect(count < 40_000, "\(process.output)")
    }
}

/// A folder of many modules of GIO, which are copies of one.
private struct GIOModules {
    /// The module that asks GNOME's settings for proxies.
    static let proxyModule: String? = ["x86_64-linux-gnu/", "aarch64-linux-gnu/", "", "64/"]
        .map { "/usr/lib/\($0)gio/modules/libgiognomeproxy.so" }
        .first { FileManager.default.fileExists(atPath: $0) }

    private let temporary = TemporaryDirectory()
    var folder: String { temporary.path }

    init() throws {
        for number in 0..<100 {
            try FileManager.default.copyItem(
                atPath: Self.proxyModule!,
                toPath: "\(folder)/libcopy\(number).so"
            )
        }
    }
}
