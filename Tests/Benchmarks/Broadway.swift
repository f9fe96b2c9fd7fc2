import ArgumentParser
internal import CWebImageGtk4
import TestSupport

/// Runs a benchmark that needs GTK on a Broadway display.
enum Broadway {
    static func run(_ body: @MainActor () throws -> Void) throws {
        try MainActor.assumeIsolated {
            let display = try BroadwayDisplay.start()
            defer { display.stop() }
            display.exportEnvironment()
            guard gtk_init_check() != 0 else { throw ValidationError("GTK finds no display. Install libgtk-4-bin.") }
            try body()
        }
    }
}
