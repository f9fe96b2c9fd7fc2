internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

// Without arguments the program lists all scenarios: a name a line, with the tags after it, separated by tabs. With a name it
// runs that scenario on a display of its own: Broadway or, by GWI_DISPLAY, an X server (xvfb) or a Wayland compositor (wayland, or
// wayland2 with two device pixels per application pixel). Top-level code runs on the main thread and stays there.

let arguments = CommandLine.arguments.dropFirst()
guard let name = arguments.first else {
    for scenario in Scenario.all {
        let line = ([scenario.name] + scenario.tags.map(\.rawValue)).joined(separator: "\t")
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
    exit(0)
}
if name == "--before-gtk-init" {
    // A mistake of an app. The process is to end in the initializer, with a message.
    let wrappers: [String: @MainActor () -> any GtkWidgetConvertible] = [
        "Picture": Picture.init, "Image": Image.init, "Entry": Entry.init, "Button": Button.init,
        "ToggleButton": ToggleButton.init, "CheckButton": CheckButton.init, "MenuButton": MenuButton.init,
    ]
    _ = arguments.last.flatMap { wrappers[$0] }?()
    exit(0)
}
// With --figures and a folder it makes the figures of the documentation; with --dark after it, those that differ in the dark style.
let figures = Scenario("--figures") {
    try FigureStudio(isDark: arguments.last == "--dark").saveAll(in: URL(filePath: arguments[2]))
}
guard let scenario = ([figures] + Scenario.all).first(where: { $0.name == name }) else {
    FileHandle.standardError.write(Data("There is no scenario named: \(name)\n".utf8))
    exit(2)
}

let environment = ProcessInfo.processInfo.environment
/// Where a scenario can click; `nil` on another display.
var broadway: BroadwayDisplay?
/// Where a scenario can do all that a user does; `nil` on another display.
var xvfb: XvfbDisplay?
let stopDisplay: () -> Void
switch environment["GWI_DISPLAY"] {
case "xvfb":
    let display = try XvfbDisplay.start()
    display.exportEnvironment()
    xvfb = display
    stopDisplay = display.stop
case "wayland", "wayland2":
    let scale = environment["GWI_DISPLAY"] == "wayland2" ? 2 : 1
    let display = try WaylandDisplay.start(scale: scale, renderer: environment["GSK_RENDERER"] ?? "opengl")
    display.exportEnvironment()
    stopDisplay = display.stop
default:
    let display = try BroadwayDisplay.start()
    display.exportEnvironment()
    broadway = display
    stopDisplay = display.stop
}
guard gtk_init_check() != 0 else {
    FileHandle.standardError.write(Data("GTK finds no display\n".utf8))
    exit(2)
}
var exitCode: Int32 = 0
do {
    try scenario.body()
} catch let skipped as Skipped {
    FileHandle.standardError.write(Data("Skipped: \(skipped.reason)\n".utf8))
    exitCode = Skipped.exitCode
} catch {
    Expectations.fail("ended with \(error)", #fileID, #line)
}
for failure in Expectations.all { FileHandle.standardError.write(Data("\(failure)\n".utf8)) }
stopDisplay()
exit(Expectations.all.isEmpty ? exitCode : 1)
