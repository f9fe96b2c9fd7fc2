internal import CWebImageGtk4
import Foundation

/// Returns a text in the language of the user, or unchanged without a translation. data/po/update collects the texts in
/// calls of this function.
func tr(_ text: String) -> String {
    // Without a translation g_dgettext returns the very pointer that it is given.
    text.withCString { String(cString: g_dgettext(Translation.domain, $0)) }
}

/// The translations of the gallery.
enum Translation {
    static let domain = "gtkwebimage-gallery"

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
}

/// The identity of the app.
enum AppInfo {
    /// The application id, after which installed files and folders are named.
    static let identifier = "org.gtkwebimage.Gallery"
    /// The address of the project, which the metainfo repeats.
    static let homepage = "https://example.org/GtkWebImage"
    static let issues = "https://example.org/GtkWebImage/issues"
}
