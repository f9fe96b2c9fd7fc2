internal import CWebImageGtk4
import Foundation
import GtkWebImage

/// How the pages write sizes and numbers.
extension Page {
    /// Formats a byte count in the way of GNOME.
    static func size(_ byteCount: Int) -> String {
        let text = g_format_size(guint64(max(byteCount, 0)))!
        defer { g_free(text) }
        return String(cString: text)
    }

    /// Formats a size in pixels.
    static func size(_ size: PixelSize) -> String { "\(size.width) × \(size.height)" }

    /// Formats a number with the decimal separator of the user's language.
    /// - Parameters:
    ///   - digits: The most digits after the separator.
    ///   - padded: Whether there are always as many, so that a number that changes keeps its place. Default: yes.
    static func number(_ value: Double, digits: Int = 1, padded: Bool = true) -> String {
        let separator = localeconv().flatMap { $0.pointee.decimal_point }.map { String(cString: $0) } ?? "."
        let text = String(format: "%.\(digits)f", value).replacing(".", with: separator)
        guard !padded, let point = text.firstRange(of: separator) else { return text }
        let places = text[point.upperBound...].reversed().drop { $0 == "0" }.reversed()
        return text[..<point.lowerBound] + (places.isEmpty ? "" : separator + places)
    }

    /// Formats a time in milliseconds, or in microseconds where these would be 0.
    static func time(_ time: Duration) -> String {
        time < .microseconds(50)
            ? tr("%1 µs", number(time / .microseconds(1), digits: 0)) : tr("%1 ms", number(time / .milliseconds(1)))
    }
}
