internal import CWebImageGLib
import FoundationEssentials

/// The default directory of a disk cache: $XDG_CACHE_HOME/<app id>/web-images/<namespace>.
package enum CacheDirectory {
    /// Returns the path for a namespace of this app.
    package static func standard(namespace: String = "default") -> String {
        let base = String(cString: g_get_user_cache_dir())
        return "\(base)/\(applicationName)/web-images/\(namespace)"
    }

    /// The ID of the GApplication, else the name of the program.
    private static var applicationName: String {
        if let application = g_application_get_default(), let id = g_application_get_application_id(application) {
            return String(cString: id)
        }
        if let name = g_get_prgname() { return String(cString: name) }
        let path = CommandLine.arguments.first ?? ""
        let name = path.split(separator: "/").last.map(String.init)
        return name ?? "GtkWebImage"
    }
}
