import ArgumentParser
import GtkWebImage

/// Where a benchmark decodes.
enum DecodingMode: String, ExpressibleByArgument, CaseIterable, CustomStringConvertible {
    case sandboxed
    case inProcess = "in-process"

    static let help: ArgumentHelp =
        "Where images are decoded: in workers, as an app does by default (sandboxed), or in-process."

    var configuration: ImageManager.Configuration.Decoding {
        switch self {
        // Not automatic, which would measure something else where workers cannot be started.
        case .sandboxed: .sandboxed
        case .inProcess: .inProcess
        }
    }

    var description: String { self == .sandboxed ? "decoded in workers" : "decoded in process" }
}
