internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageSandboxShims
internal import CWebImageShims
import Glibc
package import WebImageCore
import WebImageFormats
import WebImageSandbox

/// The main function of a decode worker. It runs before `main`, in the program of the app or in the program for workers.
/// - Parameter kind: The number of a ``WorkerKind``.
@_cdecl("gwi_worker_main")
package func runDecodeWorker(_ socket: Int32, _ kind: Int32) {
    guard let kind = WorkerKind(rawValue: kind) else { return }
    // The app kills a worker that takes too long.
    LoaderWait.isUnlimited = true
    WorkerMain.run(
        on: socket,
        kind,
        coders: .worker(kind, adding: DecodeWorkerProcess.addedDecoders),
        readable: DecodeWorkerProcess.load(kind),
        decodingLimit: SystemResources.loadingBudget.decodingLimit
    )
}

/// The preparations of a decode worker before it gives up its rights.
package enum DecodeWorkerProcess {
    /// Decoders that a test adds to its workers, set before `main` while the process has one thread.
    nonisolated(unsafe) package static var addedDecoders: [any ImageDecoding] = []

    /// Loads everything that decoders would load on first use.
    /// - Returns: The folders with files that decoders may still read.
    fileprivate static func load(_ kind: WorkerKind) -> [UnsafePointer<CChar>?] {
        if kind != .codecs { loadModules() }
        guard kind.readsFonts else { return [] }
        // libxml2 converts other encodings than UTF-8 with modules of iconv, which cannot be loaded after the sandbox closes.
        for encoding in encodings { _ = iconv_open("UTF-8", encoding) }
        var folders = [UnsafePointer<CChar>?](repeating: nil, count: 64)
        let count = gwi_worker_load_fonts(&folders, folders.count)
        return Array(folders.prefix(count))
    }

    /// The encodings of browsers (Encoding Standard, section 4.2) for which iconv has modules.
    private static let encodings =
        (1...16).map { "ISO-8859-\($0)" } + (0...8).map { "WINDOWS-125\($0)" }
        + [
            "KOI8-R", "KOI8-U", "IBM866", "MACINTOSH", "GB18030", "GBK", "GB2312", "BIG5", "EUC-JP", "SHIFT_JIS",
            "EUC-KR",
        ]

    private static func loadModules() {
        guard let formats = gdk_pixbuf_get_formats() else { return }
        defer { g_slist_free(formats) }
        var list: UnsafeMutablePointer<GSList>? = formats
        while let node = list {
            list = node.pointee.next
            let format = OpaquePointer(node.pointee.data)
            guard gdk_pixbuf_format_is_disabled(format) == 0, let types = gdk_pixbuf_format_get_mime_types(format)
            else { continue }
            defer { g_strfreev(types) }
            guard let type = types.pointee, !gwi_pixbuf_decodes_elsewhere(type),
                let loader = gdk_pixbuf_loader_new_with_mime_type(type, nil)
            else { continue }
            gdk_pixbuf_loader_close(loader, nil)
            g_object_unref(loader)
        }
    }
}
