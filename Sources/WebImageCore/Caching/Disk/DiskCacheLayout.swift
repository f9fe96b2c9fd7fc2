/// The layout of the cache directory: every name, suffix and number that files on disk carry.
///
/// ```
/// CACHEDIR.TAG                          tells backup programs to leave the directory out
/// originals-4/4f/4f…c2.jpg              an image file as it was loaded, with a footer behind it (CacheEntryFile)
/// renditions-4/4f/4f…c2-91…0a           a decoded image at the size at which it was shown
/// ```
///
/// A file name is the hash of the URL; a rendition adds the hash of its variant. The first two digits name a subdirectory, so no
/// directory grows large. An original keeps the extension of its URL for file managers.
package enum DiskCacheLayout {
    /// The version of the layout and its files. Raise it when older files become unreadable; the directories of earlier versions
    /// are then removed.
    package static let version = 4

    /// A directory within the cache directory, which is a separate cache.
    package enum Section: CaseIterable, Sendable {
        case originals
        case renditions

        /// The name of the directory.
        package var directoryName: String { "\(prefixes[0])\(version)" }

        /// The name without its version; the first prefix is current, the others are from earlier versions.
        fileprivate var prefixes: [String] {
            switch self {
            case .originals: ["originals-"]
            case .renditions: ["renditions-", "results-"]
            }
        }
    }

    /// The last eight bytes of an entry file. The eighth is the version, counted from the digit 0.
    static let magic = Array("GWIdisk".utf8) + [UInt8(ascii: "0") + UInt8(version)]
    /// The suffix of a file that is being written.
    static let temporarySuffix = FileStore.temporarySuffix
    package static let tagName = "CACHEDIR.TAG"
    /// The contents of the tag (https://bford.info/cachedir/).
    package static let tag = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This directory holds images that can be loaded again. See https://bford.info/cachedir/

        """

    /// Whether a directory is from an earlier version. Unknown names are never outdated.
    package static func isOutdated(_ name: String) -> Bool {
        Section.allCases.flatMap(\.prefixes).contains { prefix in
            name.hasPrefix(prefix) && Int(name.dropFirst(prefix.count)).map { $0 < version } == true
        }
    }

    /// The path of an entry within its section.
    static func fileName(for key: String, _ hashes: CacheHashes) -> String {
        let (base, variant) = CacheKey.parts(of: key)
        let name = hashes.name(String(base))
        let end = variant.map { "-\(hashes.name(String($0)).prefix(16))" } ?? fileExtension(of: key)
        return "\(directoryName(forHash: name))/\(name)\(end)"
    }

    /// The directory within its section that holds all variants of a base key, and the prefix of their names.
    static func variants(of base: String, _ hashes: CacheHashes) -> (directory: String, namePrefix: String) {
        let name = hashes.name(base)
        return (String(directoryName(forHash: name)), "\(name)-")
    }

    private static func directoryName(forHash hash: String) -> Substring { hash.prefix(2) }

    /// Whether a path looks like an entry of the library, including temporary files.
    package static func isEntry(_ path: String) -> Bool {
        let names = path.split(separator: "/").suffix(2).map(\.utf8)
        guard names.count == 2, names[1].prefix(2).elementsEqual(names[0]) else { return false }
        return names[1].prefix(32).count { "0123456789abcdef".utf8.contains($0) } == 32
    }

    /// The extension of a URL's path with its dot, if it is short and alphanumeric and not the temporary suffix; otherwise empty.
    private static func fileExtension(of url: String) -> Substring {
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let letters = path.suffix(9).reversed().prefix { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "a")...UInt8(ascii: "z"): true
            default: false
            }
        }
        let end = path.suffix(letters.count + 1)
        guard (1...8).contains(letters.count), end.count > letters.count, end.first == UInt8(ascii: "."),
            !end.elementsEqual(temporarySuffix.utf8)
        else { return "" }
        return Substring(end)
    }
}

/// The hash functions of the disk cache, provided by WebImageLinux because this target links no C library.
package struct CacheHashes: Sendable {
    /// A collision-resistant hash of a key that names its file: at least 32 lowercase hexadecimal digits.
    package let name: @Sendable (String) -> String
    /// A checksum that detects damage.
    package let checksum: @Sendable (UnsafeRawBufferPointer) -> UInt32

    package init(
        name: @escaping @Sendable (String) -> String,
        checksum: @escaping @Sendable (UnsafeRawBufferPointer) -> UInt32
    ) {
        self.name = name
        self.checksum = checksum
    }
}
