import CHostileCalls
import Foundation
import WebImageCore
import WebImageLinux
import WebImageSandbox

// An app that decodes files in workers and says what protects it:
//
//     SandboxedApp [--without-landlock] [--without-seccomp] [--prepared] [--removed] [--killed] [--program] [--pixels] [--short] FILE...
//
// It prints the format and size of each file, or its error, then the rights that the workers have given up. Without Landlock, or
// seccomp, the kernel says that it has none. Prepared, the workers start before the first file. Removed, the app deletes its own program first, as an update does. Killed, it prints its
// processes instead and kills itself. With --program, it prints the program of the workers; with --pixels the first pixel of each file.
// Short, the address space has room for little more while the second file is decoded.

let arguments = CommandLine.arguments.dropFirst()
let files = arguments.filter { !$0.hasPrefix("--") }
if arguments.contains("--removed") { unlink(CommandLine.arguments[0]) }
if arguments.contains("--without-landlock") { precondition(refuse_landlock()) }
if arguments.contains("--without-seccomp") { precondition(refuse_seccomp()) }

guard let sandbox = DecodeSandbox.shared else {
    print("\(ImageManager.sandboxStatus)")
    exit(0)
}
let contents = files.map { (path: $0, data: FileManager.default.contents(atPath: $0)) }
if arguments.contains("--prepared") { sandbox.prepare() }
let coders = CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: true), neverHere: [.svg])

func limitAddressSpace(to byteCount: Int?) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    limit.rlim_cur = byteCount.map { rlim_t($0) } ?? limit.rlim_max
    precondition(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
}

for (index, file) in contents.enumerated() {
    if arguments.contains("--short") {
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).prefix { $0 != " " }
        limitAddressSpace(to: index == 1 ? Int(pages)! * sysconf(Int32(_SC_PAGESIZE)) + 4 << 20 : nil)
    }
    do throws(ImageError) {
        guard let data = file.data else { fatalError("\(file.path) cannot be read") }
        // As from the network, since files may be decoded in the process of the app.
        let image = try coders.decode(data, options: DecodeOptions(url: URL(string: "http://host/image")))
        print("\(image.format.rawValue) \(image.naturalSize)")
        if arguments.contains("--pixels") { print(image.pixels.withUnsafeBytes { $0.prefix(3).map(Int.init) }) }
    } catch {
        print("error \(error)")
    }
}
if arguments.contains("--killed") {
    print((sandbox.processes + sandbox.zygoteProcesses).map(String.init).joined(separator: " "))
    fflush(nil)
    kill(getpid(), SIGKILL)
}
if arguments.contains("--program") {
    let program = sandbox.zygoteProcesses.first.flatMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/exe")
    }
    print(program ?? "none")
}
print(ImageManager.sandboxStatus.protections.map(\.rawValue).sorted().joined(separator: " "))
