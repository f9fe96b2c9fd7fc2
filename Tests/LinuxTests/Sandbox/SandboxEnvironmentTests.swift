internal import CWebImageSandboxShims
import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageFormats
@testable import WebImageLinux
@testable import WebImageSandbox

/// Decodes in an app of its own, in the environments in which apps run.
@Suite("The sandbox in odd environments", .blocking, .serialized)
struct SandboxEnvironmentTests {
    private let folder = TemporaryDirectory()
    private let images: [String]
    private static let everything = "files noNewPrivileges resources systemCalls"

    init() throws {
        let files = [
            ("a.jpg", TestImage.quarters(size: PixelSize(width: 60, height: 40), format: .jpeg)),
            ("b.svg", Data("<svg xmlns='http://www.w3.org/2000/svg' width='20' height='10'/>".utf8)),
        ]
        images = files.map { [path = folder.path] in "\(path)/\($0.0)" }
        for (file, image) in zip(files, images) { try file.1.write(to: URL(filePath: image)) }
        // Other users read them, too.
        chmod(folder.path, 0o755)
    }

    private static let app = BuiltProgram.path("SandboxedApp")

    private func run(_ command: [String]) throws -> [String] {
        let result = try ChildProcess.run(command[0], Array(command.dropFirst()))
        #expect(result.exitCode == 0, "\(result.output)")
        return result.output.split(separator: "\n").map(String.init)
    }

    /// Copies the program, so that every user may run it. A child that another test starts must not inherit a file that is written:
    /// it could not be run.
    private func copiedApp() throws -> String {
        let copy = folder.path + "/app"
        _ = try run(["cp", Self.app, copy])
        chmod(copy, 0o755)
        return copy
    }

    @Test("A kernel with every protection") func plain() throws {
        try #require(DecodeSandbox.shared != nil && gwi_has_landlock())
        #expect(try run([Self.app] + images) == ["jpeg 60x40", "svg 20x10", Self.everything])
    }

    @Test("Without Landlock, images are decoded behind the fence that is left, and drawings from the network nowhere")
    func withoutLandlock() throws {
        let lines = try run([Self.app, "--without-landlock"] + images)
        #expect(lines.first == "jpeg 60x40")
        #expect(lines.last == "noNewPrivileges resources systemCalls")
        // Where gdk-pixbuf has processes of its own, the drawing needs no worker.
        let isElsewhere = PixbufCoder.drawsElsewhere
        #expect(lines.contains("svg 20x10") == isElsewhere, "\(lines)")
        #expect(lines.joined().contains("This kernel has no Landlock") != isElsewhere, "\(lines)")
    }

    @Test("Without seccomp, files stay out of reach, and drawings from the network are decoded nowhere")
    func withoutSeccomp() throws {
        try #require(gwi_has_landlock())
        let lines = try run([Self.app, "--without-seccomp"] + images)
        #expect(lines.first == "jpeg 60x40" && lines.last == "files noNewPrivileges resources")
        // The processes of gdk-pixbuf need seccomp as well.
        let isElsewhere = PixbufCoder.drawsElsewhere
        #expect(!lines.contains("svg 20x10") && lines.joined().contains("This kernel has no seccomp") != isElsewhere)
    }

    @Test(
        "A drawing is in the language of the user",
        .enabled(if: !PixbufCoder.drawsElsewhere, "gdk-pixbuf decodes in another process"),
        arguments: [("en_GB.UTF-8", "[0, 128, 0]"), ("de_DE.UTF-8", "[255, 0, 0]")]
    )
    func language(locale: String, pixel: String) throws {
        let file = "\(folder.path)/language.svg"
        let drawing = """
            <svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><switch><rect systemLanguage="en" width="20" height="10" \
            fill="green"/><rect width="20" height="10" fill="red"/></switch></svg>
            """
        try Data(drawing.utf8).write(to: URL(filePath: file))
        let variables = ["-u", "LANGUAGE", "-u", "LC_ALL", "-u", "LC_MESSAGES", "LANG=\(locale)"]
        let lines = try run(["env"] + variables + [Self.app, "--pixels", file])
        #expect(lines.first == "svg 20x10" && lines.contains(pixel), "\(lines)")
    }

    @Test("Where descriptors are few, workers that cannot be started hold up no image", arguments: 8..<16)
    func fewDescriptors(limit: Int) throws {
        let script = "ulimit -n \(limit); exec timeout 120 '\(Self.app)' --prepared '\(images[0])'"
        let result = try ChildProcess.run("bash", ["-c", script])
        // libdispatch ends a program without descriptors for its timers. timeout(1) says 124 of one that hangs.
        #expect(result.exitCode != 124)
        if result.exitCode == 0 { #expect(result.output.contains("jpeg 60x40"), "\(result.output)") }
    }

    @Test("An image for which the app has no addresses fails, and its worker and its next load do not")
    func shortAddressSpace() throws {
        let large = folder.path + "/large.png"
        try TestImage.quarters(size: PixelSize(width: 3000, height: 2000), format: .png).write(to: URL(filePath: large))
        let lines = try run([Self.app, "--short", images[0], large, large])
        #expect(lines[0] == "jpeg 60x40" && lines[2] == "png 3000x2000", "\(lines)")
        #expect(lines[1].contains("imageTooLarge"), "\(lines)")
    }

    @Test("A program whose file an update has removed") func removed() throws {
        let copy = try copiedApp()
        let lines = try run([copy, "--removed"] + images)
        #expect(lines.first == "jpeg 60x40" && lines.last?.contains("systemCalls") == true, "\(lines)")
        #expect(!FileManager.default.fileExists(atPath: copy))
    }

    @Test("A program for workers that is installed beside that of the app is used, unless it does not fit")
    func installed() throws {
        let app = try copiedApp()
        let decoder = "\(folder.path)/\(WorkerProgram.name)"
        try FileManager.default.copyItem(atPath: BuiltProgram.path(WorkerProgram.name), toPath: decoder)
        let lines = try run([app, "--program"] + images)
        #expect(lines.first == "jpeg 60x40" && lines.contains(decoder), "\(lines)")
        // When it is another program
        for other in ["/bin/cat", "/bin/false", "/etc/passwd"] {
            try FileManager.default.removeItem(atPath: decoder)
            try FileManager.default.copyItem(atPath: other, toPath: decoder)
            chmod(decoder, 0o755)
            let lines = try run([app, "--program"] + images)
            #expect(lines.first == "jpeg 60x40" && lines.contains(app), "\(other): \(lines)")
        }
        #expect(WorkerProgram.paths(besides: "/nowhere/app") == [WorkerProgram.own])
        #expect(try ChildProcess.run(BuiltProgram.path(WorkerProgram.name), []).exitCode == 2)
    }

    @Test("Another user, who may own nothing", .enabled(if: getuid() == 0, "Only root can run as another user"))
    func otherUser() throws {
        let lines = try run(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", try copiedApp()] + images
        )
        #expect(lines.first == "jpeg 60x40" && lines.last?.contains("systemCalls") == true, "\(lines)")
    }

    @Test(
        "A container without rights, in which no user namespace can be made",
        .enabled(if: Container.canStart, "bubblewrap cannot start here")
    )
    func container() throws {
        let inner = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\""
        let lines = try run(Container.command + ["sh", "-c", inner, "sh", Self.app] + images)
        #expect(lines.contains("jpeg 60x40") && lines.last?.contains("systemCalls") == true, "\(lines)")
    }
}

/// bubblewrap, which Flatpak uses as well.
private enum Container {
    static let command = [
        "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--cap-drop", "ALL",
        "--new-session", "--die-with-parent",
    ]

    static var canStart: Bool {
        (try? ChildProcess.run(command[0], Array(command.dropFirst()) + ["true"]))?.exitCode == 0
    }
}
