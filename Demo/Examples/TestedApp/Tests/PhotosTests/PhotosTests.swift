import Foundation
import Testing
import WebImageTesting

@Suite("The window of a photo")
struct PhotosTests {
    @Test("It shows the photo")
    func shown() throws {
        let display = try XvfbDisplay.start()
        defer { display.stop() }
        let scenario = Process()
        // Programs and tests are built into the same folder.
        scenario.executableURL = Bundle.main.bundleURL.appending(path: "PhotosScenario")
        scenario.environment = ProcessInfo.processInfo.environment.merging(display.environment) { $1 }
        try scenario.run()
        scenario.waitUntilExit()
        #expect(scenario.terminationStatus == 0)
    }
}
