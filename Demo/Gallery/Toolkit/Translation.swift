internal import CWebImageGtk4
import Foundation

/// The text in the language of the user, where there is a translation; else as it is. data/po/update collects what is
/// marked with this.
func tr(_ text: String) -> String {
    // What has no translation comes back as the very pointer.
    text.withCString { String(cString: g_dgettext(Translation.domain, $0)) }
}

/// Where the translations are.
enum Translation {
    static let domain = "gtkwebimage-gallery"

    /// Translations are looked for in $TEXTDOMAINDIR, in ../share/locale beside the program when it is installed,
    /// or where the system has them, as LANGUAGE/LC_MESSAGES/gtkwebimage-gallery.mo.
    static func start() {
        setlocale(LC_ALL, "")
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let beside = program.appending(path: "../share/locale").standardized.path()
        if let folder = ProcessInfo.processInfo.environment["TEXTDOMAINDIR"] {
            bindtextdomain(domain, folder)
        } else if FileManager.default.fileExists(atPath: beside) {
            bindtextdomain(domain, beside)
        }
        bind_textdomain_codeset(domain, "UTF-8")
    }
}
