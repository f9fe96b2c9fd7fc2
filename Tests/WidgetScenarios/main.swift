internal import CWebImageGtk4
import Foundation
import GtkWebImage
import TestSupport
import WebImageTesting

// Without arguments: the names of all scenarios. With one: runs it, on a broadway display of its own, or on an X server
// of its own when GWI_DISPLAY is xvfb. Top-level code runs on the main thread, and stays there.

let arguments = CommandLine.arguments.dropFirst()
guard let name = arguments.first else {
    for scenario in Scenario.all { FileHandle.standardOutput.write(Data("\(scenario.name)\n".utf8)) }
    exit(0)
}
guard let scenario = Scenario.all.first(where: { $0.name == name }) else {
    FileHandle.standardError.write(Data("There is no scenario named: \(name)\n".utf8))
    exit(2)
}

let broadway: BroadwayDisplay?
let xvfb: XvfbDisplay?
if ProcessInfo.processInfo.environment["GWI_DISPLAY"] == "xvfb" {
    broadway = nil
    xvfb = try XvfbDisplay.start()
    xvfb?.exportEnvironment()
} else {
    broadway = try BroadwayDisplay.start()
    broadway?.exportEnvironment()
    xvfb = nil
}
guard gtk_init_check() != 0 else {
    FileHandle.standardError.write(Data("GTK finds no display\n".utf8))
    exit(2)
}
do {
    try scenario.body()
} catch {
    Expectations.fail("ended with \(error)", #fileID, #line)
}
for failure in Expectations.all { FileHandle.standardError.write(Data("\(failure)\n".utf8)) }
broadway?.stop()
xvfb?.stop()
exit(Expectations.all.isEmpty ? 0 : 1)
