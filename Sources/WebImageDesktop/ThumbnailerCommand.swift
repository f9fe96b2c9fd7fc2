internal import CWebImageGLib
internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// The command line of a thumbnailer, and its run.
///
/// A thumbnailer parses untrusted files, mostly in C. If bubblewrap is installed, it can access only the system's programs and
/// libraries, the file and an empty directory, but neither the network nor other processes, as in GNOME. Its processor time, memory
/// and output are always limited.
struct ThumbnailerCommand {
    /// The processor time of a run, in seconds.
    private static let largestProcessorTime = 30

    /// The path of the thumbnail.
    let output: String
    private var arguments: [[UInt8]]

    /// - Returns: `nil` if the command cannot be parsed.
    init?(_ command: String, source: SourceFile, folder: String, longestSide: Int, sandbox: String? = Self.sandbox) {
        output = "\(folder)/thumbnail.png"
        var count: Int32 = 0
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard g_shell_parse_argv(command, &count, &words, nil) != 0, let words else { return nil }
        defer { g_strfreev(words) }
        // In the sandbox, the file has another path. It keeps its suffix, by which some programs recognize types.
        let name = source.path.split(separator: UInt8(ascii: "/")).last ?? []
        let suffix = name.lastIndex(of: UInt8(ascii: ".")).map { Array(name[$0...]) } ?? []
        let path = sandbox == nil ? source.path : Array("/tmp/file".utf8) + suffix
        let uri = sandbox == nil ? source.uri : Self.uri(of: path)
        let written = sandbox == nil ? output : "/tmp/out/thumbnail.png"
        arguments = (0..<Int(count)).compactMap { index in
            words[index].map { word in
                Self.expand(Array(String(cString: word).utf8)) { letter in
                    switch letter {
                    case UInt8(ascii: "i"): path
                    case UInt8(ascii: "u"): Array(uri.utf8)
                    case UInt8(ascii: "o"): Array(written.utf8)
                    case UInt8(ascii: "s"): Array("\(longestSide)".utf8)
                    case UInt8(ascii: "%"): [letter]
                    default: []
                    }
                }
            }
        }
        guard let program = arguments.first, !program.isEmpty else { return nil }
        if let sandbox { arguments = Self.sandboxed(arguments, sandbox, file: source.path, at: path, folder: folder) }
        arguments = Self.limited(arguments)
    }

    /// Wraps a command in a shell that sets limits: posix_spawn cannot set any, and setting them from outside would be too late for
    /// a quick program. Lower existing limits remain.
    private static func limited(_ command: [[UInt8]]) -> [[UInt8]] {
        // The units are seconds, KiB and, in dash, blocks of 512 bytes; bash uses blocks of 1024 bytes outside its POSIX mode.
        let limits = ["-c 0", "-t \(largestProcessorTime)", "-v \(4 << 20)", "-f \(64 << 11)"]
        let script = limits.map { "ulimit \($0) 2>/dev/null || :; " }.joined() + "exec \"$@\""
        return ["/bin/sh", "-c", script, "sh"].map { Array($0.utf8) } + command
    }

    /// The path of bubblewrap; `nil` if it is not installed.
    static let sandbox: String? = {
        let path = g_find_program_in_path("bwrap")
        defer { g_free(path) }
        return path.map { String(cString: $0) }
    }()

    private static func uri(of path: [UInt8]) -> String {
        let uri = (path + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { g_filename_to_uri($0.baseAddress, nil, nil) }
        }
        defer { g_free(uri) }
        return uri.map { String(cString: $0) } ?? ""
    }

    private static func expand(_ word: [UInt8], _ value: (UInt8) -> [UInt8]) -> [UInt8] {
        var (result, isEscaped) = ([] as [UInt8], false)
        for byte in word {
            if isEscaped {
                result += value(byte)
            } else if byte != UInt8(ascii: "%") {
                result.append(byte)
            }
            isEscaped = !isEscaped && byte == UInt8(ascii: "%")
        }
        return result
    }

    private static func sandboxed(
        _ command: [[UInt8]],
        _ sandbox: String,
        file: [UInt8],
        at path: [UInt8],
        folder: String
    ) -> [[UInt8]] {
        var words = [sandbox, "--ro-bind", "/usr", "/usr"]
        for directory in [
            "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts",
        ] {
            words += ["--ro-bind-try", directory, directory]
        }
        words += ["--ro-bind-try", "/var/cache/fontconfig", "/var/cache/fontconfig"]
        words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", folder, "/tmp/out", "--chdir", "/"]
        words += ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
        words += ["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--setenv", "GIO_USE_VFS", "local"]
        return words.map { Array($0.utf8) } + [Array("--ro-bind".utf8), file, path] + command
    }

    /// The end of a run.
    enum Ending {
        case succeeded
        /// The program reported that it cannot read the file.
        case failed
        /// A signal ended the program, because it exceeded a limit or the load was cancelled.
        case notEnded
        case notStarted
    }

    /// Runs the program.
    func run(timeLimit: Duration, isCancelled: () -> Bool) -> Ending {
        guard let child = spawn() else { return .notStarted }
        let deadline = SuspendingClock.now + timeLimit
        var status: Int32 = 0
        while true {
            let ended = waitpid(child, &status, WNOHANG)
            if ended == child { return Self.ending(status) }
            // If the app reaps all its children, the status is lost; then the output file shows the result.
            if ended < 0, errno != EINTR { return .succeeded }
            if SuspendingClock.now > deadline || isCancelled() {
                // The child leads its own process group.
                kill(-child, SIGKILL)
                while waitpid(child, &status, 0) < 0, errno == EINTR {}
                return .notEnded
            }
            usleep(5000)
        }
    }

    /// The ending for a status of waitpid(2).
    private static func ending(_ status: Int32) -> Ending {
        guard status & 0x7F == 0 else { return .notEnded }
        switch status >> 8 & 0xFF {
        case 0: return .succeeded
        // Shells and bubblewrap use these codes for a program that could not be started or was ended by a signal.
        case 126, 127: return .notStarted
        case 129...: return .notEnded
        default: return .failed
        }
    }

    private func spawn() -> pid_t? {
        var words = arguments.map { word in strdup((word + [0]).map { CChar(bitPattern: $0) }) } + [nil]
        defer { for word in words { free(word) } }
        let child = gwi_spawn(&words, nil, true, -1, -1)
        return child > 0 ? child : nil
    }
}
