internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageSandboxShims
internal import CWebImageShims
import Glibc
package import WebImageCore
import WebImageFormats
import WebImageSandbox

/// The process of decode workers. It is called before `main`, in the program of the app or in one for workers alone.
/// - Parameter kind: The number of a ``WorkerKind``.
@_cdecl("gwi_worker_main")
package func runDecodeWorker(_ socket: Int32, _ kind: Int32) {
    guard let kind = WorkerKind(rawValue: kind) else { return }
    // The app ends a worker that takes too long.
    LoaderWait.isUnlimited = true
    WorkerMain.run(
        on: socket,
        kind,
        coders: .worker(kind, adding: DecodeWorkerProcess.addedDecoders),
        readable: DecodeWorkerProcess.load(kind),
        decodingLimit: SystemResources.loadingBudget.decodingLimit
    )
}

/// What a decode worker has before it gives up its rights.
package enum DecodeWorkerProcess {
    /// What a test adds to the decoders of its workers. It is set before `main`, on the only thread.
    nonisolated(unsafe) package static var addedDecoders: [any ImageDecoding] = []

    /// Loads what decoders load when they are first used.
    /// - Returns: The folders with files that they read all the same.
    fileprivate static func load(_ kind: WorkerKind) -> [UnsafePointer<CChar>?] {
        if kind != .codecs { loadModules() }
        guard kind.readsFonts else { return [] }
        // The tables by which libxml2 reads what is not UTF-8 are code, which nothing loads behind the fence.
        for encoding in encodings { _ = iconv_open("UTF-8", encoding) }
        var folders = [UnsafePointer<CChar>?](repeating: nil, count: 64)
        let count = gwi_worker_load_fonts(&folders, folders.count)
        return Array(folders.prefix(count))
    }

    /// The encodings that browsers know (Encoding Standard, section 4.2) and iconv has modules for.
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
        loadHEIFPlugins()
    }

    /// Loads the decoders of libheif for good, if a module of gdk-pixbuf uses it. Since version 1.14 they are plugins, which libheif
    /// otherwise loads with its first user and unloads with its last.
    private static func loadHEIFPlugins() {
        // What heif_init returns is in registers.
        typealias Initialize = @convention(c) (UnsafeRawPointer?) -> Void
        guard let library = dlopen("libheif.so.1", RTLD_NOW | RTLD_NOLOAD), let function = dlsym(library, "heif_init")
        else { return }
        unsafeBitCast(function, to: Initialize.self)(nil)
    }
}
