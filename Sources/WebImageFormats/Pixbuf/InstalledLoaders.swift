internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// The installed loaders of gdk-pixbuf. The first use reads a file.
struct InstalledLoaders: Sendable {
    /// The loaders of one format.
    struct Loader: Sendable {
        /// The names of the loaders in gdk-pixbuf's order, which are tried in turn.
        let names: [String]
        /// Whether the loader decodes in another process. It is then the only name, so that a file that it rejects is not decoded
        /// in this process.
        let isElsewhere: Bool
    }

    /// A format without a row in the library's table, named by its media type.
    private struct Unlisted: Sendable {
        let format: ImageFormat
        /// The address of its GdkPixbufFormat, which is never freed.
        let address: UInt
    }

    static let all = InstalledLoaders()

    private var loaders: [ImageFormat: Loader] = [:]
    private var unlisted: [Unlisted] = []

    private init() {
        let known = Set(FormatDescriptor.all.flatMap(\.mediaTypes))
        var names: [String: [String]] = [:]
        var media: [ImageFormat: String] = [:]
        var list = gdk_pixbuf_get_formats()
        let first = list
        while let node = list {
            defer { list = node.pointee.next }
            guard let address = node.pointee.data else { continue }
            let format = OpaquePointer(address)
            guard gdk_pixbuf_format_is_disabled(format) == 0 else { continue }
            let types = Self.mediaTypes(of: format)
            let name = gdk_pixbuf_format_get_name(format)!
            for type in Set(types) where names[type]?.contains(String(cString: name)) != true {
                names[type, default: []].append(String(cString: name))
            }
            g_free(name)
            guard let type = types.first, known.isDisjoint(with: types.map { $0.lowercased() }) else { continue }
            let unlisted = Unlisted(
                format: ImageFormat(rawValue: type.lowercased()),
                address: UInt(bitPattern: address)
            )
            self.unlisted.append(unlisted)
            media[unlisted.format] = type
        }
        g_slist_free(first)
        for descriptor in FormatDescriptor.all {
            media[descriptor.format] = descriptor.mediaTypes.first { names[$0] != nil }
        }
        loaders = media.mapValues { type in
            let isElsewhere = gwi_pixbuf_decodes_elsewhere(type)
            return Loader(names: Array((names[type] ?? []).prefix(isElsewhere ? 1 : .max)), isElsewhere: isElsewhere)
        }
    }

    private static func mediaTypes(of format: OpaquePointer) -> [String] {
        guard let types = gdk_pixbuf_format_get_mime_types(format) else { return [] }
        defer { g_strfreev(types) }
        var names: [String] = []
        var type = types
        while let name = type.pointee {
            names.append(String(cString: name))
            type += 1
        }
        return names
    }

    /// The loader of a format; `nil` if none is installed.
    func loader(of format: ImageFormat) -> Loader? { loaders[format] }

    /// The format of a file that only the signatures of loaders recognize.
    func format(of head: Data) -> ImageFormat? {
        var best: (format: ImageFormat, relevance: Int32)?
        head.withUnsafeBytes { bytes in
            let start = bytes.bindMemory(to: UInt8.self).baseAddress
            guard let start, !bytes.isEmpty else { return }
            for candidate in unlisted {
                let relevance = gwi_pixbuf_relevance(
                    UnsafeRawPointer(bitPattern: candidate.address),
                    start,
                    bytes.count
                )
                if relevance > best?.relevance ?? 0 { best = (candidate.format, relevance) }
            }
        }
        return best?.format
    }
}
