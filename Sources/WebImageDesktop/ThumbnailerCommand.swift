internal import CWebImageGLib
internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// The command line of a thumbnailer, and its run.
///
/// A thumbnailer parses files of unknown origin, mostly in C. Where bubblewrap is installed it sees the system's programs and
/// libraries, that one file and an empty directory, and neither the network nor other processes, as in GNOME. Everywhere its
/// processor time, memory and output are limited.
struct ThumbnailerCommand {
    /// The processor time of a run, in seconds.
    private static let largestProcessorTime = 30

    /// Where the thumbnail is written.
    let output: String
    private var arguments: [[UInt8]]

    /// - Returns: `nil` for a command that cannot be parsed.
    init?(_ command: String, source: SourceFile, folder: String, longestSide: Int, sandbox: String? = Self.sandbox) {
        output = "\(folder)/thumbnail.png"
        var count: Int32 = 0
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        guard g_shell_parse_argv(command, &count, &words, nil) != 0, let words else { return nil }
        defer { g_strfreev(words) }
        // The sandbox has the file at a path of its own, with its suffix, by which some programs know what it is.
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

    /// A command that starts with limits. posix_spawn cannot set any, and those that another process sets come too late for a
    /// program that is quick. A limit that is lower already stays.
    private static func limited(_ command: [[UInt8]]) -> [[UInt8]] {
        // In seconds, KiB and blocks of 512 bytes, as dash has them; bash counts blocks of 1024 bytes outside of its mode POSIX.
        let limits = ["-c 0", "-t \(largestProcessorTime)", "-v \(4 << 20)", "-f \(64 << 11)"]
        let script = limits.map { "ulimit \($0) 2>/dev/null || :; " }.joined() + "exec \"$@\""
        return ["/bin/sh", "-c", script, "sh"].map { Array($0.utf8) } + command
    }

    /// The path of bubblewrap, where it is installed.
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

    /// How a run has ended.
    enum Ending {
        case succeeded
        /// The program says that it cannot read the file.
        case failed
        /// It was ended by a signal: for its time, for its memory, or since nobody waits any more.
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
            // An app that waits for all of its children has heard of the end, and the file says how it was.
            if ended < 0, errno != EINTR { return .succeeded }
            if SuspendingClock.now > deadline || isCancelled() {
                // It leads a process group of its own.
                kill(-child, SIGKILL)
                while waitpid(child, &status, 0) < 0, errno == EINTR {}
                return .notEnded
            }
            usleep(5000)
        }
    }

    /// The ending with a status of waitpid(2).
    private static func ending(_ status: Int32) -> Ending {
        guard status & 0x7F == 0 else { return .notEnded }
        switch status >> 8 & 0xFF {
        case 0: return .succeeded
        // Shells and bubblewrap say so of a program that cannot be started, and of one that a signal has ended.
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
