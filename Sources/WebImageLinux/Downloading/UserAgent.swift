import Foundation

/// What the library calls itself to servers.
enum UserAgent {
    /// `program GtkWebImage/0.1`, in printable ASCII.
    static var standard: String {
        let name = ProcessInfo.processInfo.processName.filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0))
        }
        return name.isEmpty ? library : "\(name) \(library)"
    }

    private static let library = "GtkWebImage/0.1"
}
