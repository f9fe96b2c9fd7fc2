internal import CWebImageGLib
internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import WebImageCore
import WebImageLinux

/// The image that a menu concerns.
@MainActor
struct MenuImage {
    private let image: WebImage
    /// The request for its file; `nil` for an image that the app has set itself.
    private let request: ImageRequest?
    private let manager: ImageManager
    /// The URL of the file.
    private let url: URL?

    /// - Returns: `nil` while a place has no image, or loads another one.
    init?(_ binding: ImageBinding) {
        guard let image = binding.currentImage else { return nil }
        let shown = binding.shownLoad
        guard shown != nil || binding.request == nil else { return nil }
        self.image = image
        var request = shown?.request
        // The file of the widget's size may be a smaller one.
        request?.decodeSize = .original
        request?.transformer = nil
        let manager = shown?.manager ?? .shared
        let usesFallback = shown?.response.fallbackError != nil
        url = usesFallback ? shown?.response.url : request.map { manager.prepare($0).request.url }
        (self.request, self.manager) = (request, manager)
    }

    /// The URL without a user name and a password; `nil` for other schemes than http and https.
    var address: String? {
        guard let url, ["http", "https"].contains(url.scheme?.lowercased()) else { return nil }
        return url.textWithoutUserInfo
    }

    private var format: ImageFormat { request == nil ? .png : image.format }

    /// A name for the file, with an extension that fits its format.
    var fileName: String {
        let isNamed = url.map { ["http", "https", "file", "resource"].contains($0.scheme?.lowercased()) } ?? false
        let name = isNamed ? url?.lastPathComponent.drop { $0 == "/" } ?? "" : ""
        // The last component of a percent-encoded path may contain a slash.
        var byteCount = 0
        let safe = String(
            name.map { $0 == "/" || $0.asciiValue ?? 32 < 32 ? "_" : $0 }.drop { $0 == "." }.prefix {
                byteCount += $0.utf8.count
                return byteCount <= 200
            }
        )
        let dot = safe.lastIndex(of: ".")
        let ending = dot.map { String(safe[$0...].dropFirst()) } ?? ""
        guard let usual = format.fileExtension, ImageFormat(fileExtension: ending) != format else {
            return safe.isEmpty ? "image" : safe
        }
        // A longer ending is part of the name.
        let stem = dot.flatMap { 1...4 ~= ending.count ? String(safe[..<$0]) : nil } ?? safe
        return "\(stem.isEmpty ? "image" : stem).\(usual)"
    }

    /// Returns a GdkContentProvider of the file. The caller owns the reference.
    func makeContentProvider() -> OpaquePointer {
        guard let request else { return image.makeContentProvider() }
        return manager.makeContentProvider(for: request, format: image.format)
    }

    /// Opens the file with the program that the desktop has for it.
    func open() async throws(ImageError) {
        let file = try await localFile()
        let context = gdk_display_get_app_launch_context(gdk_display_get_default()!)!
        defer { g_object_unref(UnsafeMutableRawPointer(context)) }
        let message = await FileCall.run { callback, data in
            g_app_info_launch_default_for_uri_async(
                file.absoluteString,
                UnsafeMutablePointer(context),
                nil,
                callback,
                data
            )
        } finish: { _, result, error in
            g_app_info_launch_default_for_uri_finish(result, error)
        }
        guard let message else { return }
        throw failure(.unsupportedFormat, "No program has opened the image (\(message))", remedy: "Save it instead.")
    }

    private func failure(_ code: ImageError.Code, _ reason: String, remedy: String) -> ImageError {
        ImageError(code, url: url, reason: reason, remedy: remedy)
    }

    /// The bytes of the file, or a PNG of an image of the app.
    func data() async throws(ImageError) -> Data {
        guard let request else {
            let image = image
            return try await inBackground { Result { () throws(ImageError) in try image.data(as: .png) } }.get()
        }
        return try await manager.file(for: request)
    }

    /// A file that another program may read. From a sandbox, other programs can read only files below the user's directories.
    private func localFile() async throws(ImageError) -> URL {
        if let url, url.isFileURL, request?.loader == nil { return url }
        // Without an extension, the program is chosen by the contents. A server could choose any by the extension.
        let (data, name) = (try await data(), format.fileExtension == nil ? "image" : fileName)
        let path = "\(CacheDirectory.opened)/\(UUID().uuidString)/\(name)"
        let written = await inBackground {
            CacheDirectory.removeOldCopies()
            return Result {
                try CacheDirectory.tag(CacheDirectory.opened)
                try FileStore().write([data], to: path)
            }
        }
        do {
            try written.get()
            return URL(filePath: path)
        } catch {
            throw failure(.notStored, "The file could not be written (\(error))", remedy: "Free some disk space.")
        }
    }
}
