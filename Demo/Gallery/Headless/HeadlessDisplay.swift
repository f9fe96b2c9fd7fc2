import ArgumentParser
import WebImageTesting

/// A display that nobody sees.
enum HeadlessDisplay: String, ExpressibleByArgument {
    case broadway
    case xvfb

    /// Starts it and makes GTK use it.
    func start() throws -> any StoppableDisplay {
        switch self {
        case .broadway:
            let display = try BroadwayDisplay.start()
            display.exportEnvironment()
            return display
        case .xvfb:
            let display = try XvfbDisplay.start()
            display.exportEnvironment()
            return display
        }
    }
}

/// What is done with a display in the end.
protocol StoppableDisplay {
    func stop()
}

extension BroadwayDisplay: StoppableDisplay {}
extension XvfbDisplay: StoppableDisplay {}
