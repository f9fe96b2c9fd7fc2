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
    /// The URL of the file on display.
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
        self.request = request
        url = shown?.response.url
        manager = shown?.manager ?? .shared
    }

    /// The URL without a user name and a password; `nil` for other schemes than http and https.
    var address: String? {
        guard let url, ["http", "https"].contains(url.scheme?.lowercased()),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return nil }
        (parts.user, parts.password) = (nil, nil)
        return parts.string
    }

    /// A name for the file, with an extension that fits its format.
    var fileName: String {
        let format = request == nil ? ImageFormat.png : image.format
        let isNamed = url.map { ["http", "https", "file", "resource"].contains($0.scheme?.lowercased()) } ?? false
        let name = isNamed ? url?.lastPathComponent.drop { $0 == "/" } ?? "" : ""
        // The last component of a percent-encoded path may contain a slash.
        let safe = String(name.map { $0 == "/" || $0.asciiValue ?? 32 < 32 ? "_" : $0 }.drop { $0 == "." }.prefix(80))
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

    /// Writes the file to a GFile. Other programs see the old or the new one.
    func write(to file: GObjectBox) async throws(ImageError) {
        let data = try await data()
        let bytes = data.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
        defer { g_bytes_unref(bytes) }
        let message = await FileCall.run { callback, context in
            let flags = GFileCreateFlags(rawValue: 0)
            g_file_replace_contents_bytes_async(file.opaquePointer, bytes, nil, 0, flags, nil, callback, context)
        } finish: { source, result, error in
            g_file_replace_contents_finish(source, result, nil, error)
        }
        if let message {
            throw failure(.notStored, "The file could not be written (\(message))", remedy: "Choose another place.")
        }
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
    private func data() async throws(ImageError) -> Data {
        if let request { return try await manager.data(for: request) }
        let image = image
        return try await Task.detached { Result { () throws(ImageError) in try image.data(as: .png) } }.value.get()
    }

    /// A file that another program may read. In a sandbox, these are only the files below the user's directories.
    private func localFile() async throws(ImageError) -> URL {
        if let url, url.isFileURL, request?.loader == nil { return url }
        let (data, name) = (try await data(), fileName)
        let written = await Task.detached { Result { try OpenedFiles.write(data, name) } }.value
        do { return try written.get() } catch {
            throw failure(.notStored, "The file could not be written (\(error))", remedy: "Free some disk space.")
        }
    }
}

/// Copies of images that other programs have opened, which stay for a day.
private enum OpenedFiles {
    private static let lifetime = 86_400.0

    static func write(_ data: Data, _ name: String) throws -> URL {
        let (store, folder) = (FileStore(), ImageManager.Configuration.DiskCache(namespace: "opened").directory)
        for file in store.files(below: folder) where file.modified < Date.now.timeIntervalSince1970 - lifetime {
            try? store.removeTree(URL(filePath: file.path).deletingLastPathComponent().path)
        }
        let path = "\(folder)/\(UUID().uuidString)/\(name)"
        try store.write([data], to: path)
        return URL(filePath: path)
    }
}
