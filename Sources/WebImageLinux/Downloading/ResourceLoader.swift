internal import CWebImageGLib
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

extension LocalLoader {
    /// A loader of resource:///path URLs, for the files that an app embeds with glib-compile-resources.
    static func resources(queue: WorkQueue) -> LocalLoader {
        LocalLoader(scheme: "resource", queue: queue) { url throws(ImageError) in
            var failure: UnsafeMutablePointer<GError>?
            let path = try localPath(of: url)
            guard let bytes = g_resources_lookup_data(path, gwi_resource_lookup_none, &failure) else {
                let reason = failure.map { String(cString: $0.pointee.message) } ?? "not found"
                g_clear_error(&failure)
                throw ImageError(
                    .unreadable,
                    url: url,
                    reason: "The resource cannot be read (\(reason))",
                    remedy: "Correct the path, or register the GResource before the image is loaded."
                )
            }
            defer { g_bytes_unref(bytes) }
            var count: gsize = 0
            guard let start = g_bytes_get_data(bytes, &count) else { return LoaderResult(data: Data()) }
            return LoaderResult(data: Data(bytes: start, count: Int(count)))
        }
    }
}
