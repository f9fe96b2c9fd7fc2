internal import CWebImageGtk4
import Foundation

/// Returns a text in the language of the user, or unchanged without a translation. data/po/update collects the texts in
/// calls of this function.
/// - Parameter values: What takes the place of %1, %2 and so on, in an order that a translation may change.
func tr(_ text: String, _ values: any CustomStringConvertible...) -> String {
    // Without a translation g_dgettext returns the very pointer that it is given.
    Translation.fill(text.withCString { String(cString: g_dgettext(Translation.domain, $0)) }, with: values)
}

/// Returns the form of a text for a number, which takes the place of %1 with separators of thousands.
func tr(_ singular: String, plural: String, count: Int) -> String {
    let text = singular.withCString { singular in
        plural.withCString { plural in
            String(cString: g_dngettext(Translation.domain, singular, plural, gulong(max(count, 0))))
        }
    }
    return Translation.fill(text, with: [count.formatted(.number.locale(Translation.locale))])
}

/// The translations of the gallery.
enum Translation {
    static let domain = "gtkwebimage-gallery"
    /// The locale of the process, which Foundation does not ask for.
    fileprivate static let locale: Locale = {
        let name = String(cString: setlocale(LC_NUMERIC, nil))
        return Locale(identifier: name.hasPrefix("C") ? "en" : name)
    }()

    /// Sets the folder of the translations: $TEXTDOMAINDIR, ../share/locale beside the installed program, or else that of
    /// the system. A translation is the file LANGUAGE/LC_MESSAGES/gtkwebimage-gallery.mo in it.
    static func start() {
        setlocale(LC_ALL, "")
        if let folder = ProcessInfo.processInfo.environment["TEXTDOMAINDIR"] {
            bindtextdomain(domain, folder)
        } else if let installed = ProgramFolder.share("locale") {
            bindtextdomain(domain, installed)
        }
        bind_textdomain_codeset(domain, "UTF-8")
    }

    /// Puts values in the places of %1, %2 and so on.
    fileprivate static func fill(_ text: String, with values: [any CustomStringConvertible]) -> String {
        guard !values.isEmpty else { return text }
        var (result, rest) = ("", text[...])
        while let percent = rest.firstIndex(of: "%") {
            result += rest[..<percent]
            rest = rest[rest.index(after: percent)...]
            if let number = rest.first?.wholeNumberValue, values.indices.contains(number - 1) {
                result += values[number - 1].description
                rest = rest.dropFirst()
            } else {
                result += "%"
            }
        }
        return result + rest
    }
}

/// The identity of the app.
enum AppInfo {
    /// The application id, after which installed files and folders are named.
    static let identifier = "org.gtkwebimage.Gallery"
    /// The address of the project, which the metainfo repeats.
    static let homepage = "https://example.org/GtkWebImage"
    static let issues = "https://example.org/GtkWebImage/issues"
}
