internal import CWebImageGLib
public import FoundationEssentials
import Glibc
public import WebImageCore
import WebImageFormats
public import WebImageLinux

/// The thumbnails of files that the programs of a desktop share, such as file managers, image viewers and your app
/// (freedesktop.org, Thumbnail Managing Standard).
///
/// With ``WebImageDesktop/WebImageCore/ImageManager/Configuration/desktopThumbnails``, a local file that is loaded with
/// ``/WebImageCore/ImageRequest/Loading/progressive`` shows its thumbnail until it is decoded.
/// ``WebImageDesktop/WebImageCore/ImageRequest/init(thumbnailOf:size:createsMissing:)`` loads the thumbnail itself, even of videos
/// and documents. A thumbnail counts only while its file is unchanged. All calls read files: not for the main thread.
public struct DesktopThumbnails: Sendable {
    /// The sizes of thumbnails, by their longest side in pixels.
    public enum Size: Int, Sendable, CaseIterable {
        /// 128 pixels.
        case normal = 128
        /// 256 pixels.
        case large = 256
        /// 512 pixels.
        case extraLarge = 512
        /// 1024 pixels.
        case doubleExtraLarge = 1024

        var directory: String {
            switch self {
            case .normal: "normal"
            case .large: "large"
            case .extraLarge: "x-large"
            case .doubleExtraLarge: "xx-large"
            }
        }
    }

    /// A thumbnail is a PNG with sides of at most 1024 pixels.
    private static let largestByteCount = 8 << 20
    /// The bytes of a file that are searched for the size of its image. Exif data with a thumbnail takes up to 64 KiB.
    private static let headByteCount = 80 << 10
    /// The directory that records failures of this version of the library.
    private static let failures = "fail/gtk-web-image-1"

    /// The thumbnails of the user, in `$XDG_CACHE_HOME/thumbnails`.
    public static let standard = DesktopThumbnails(directory: "\(CacheDirectory.ofUser)/thumbnails")

    private let directory: String

    /// Uses another directory, for example in a test.
    public init(directory: String) {
        self.directory = directory
    }

    /// The thumbnail of a file, as a PNG file.
    /// - Parameters:
    ///   - file: A `file:` URL.
    ///   - size: The preferred size. If it is missing, the next larger thumbnail is returned, or else the next smaller one.
    /// - Returns: `nil` if no thumbnail matches the current file.
    public func data(for file: URL, size: Size = .large) -> Data? {
        guard let source = SourceFile(file), !contains(source) else { return nil }
        return thumbnail(of: source, longestSide: size.rawValue)?.data
    }

    /// Stores an image as the thumbnail of a file, for all programs of the user. A larger image is scaled down.
    /// - Parameters:
    ///   - image: The image. Only its first frame is stored.
    ///   - file: A `file:` URL.
    ///   - size: The size of the thumbnail. Default: 256 pixels.
    /// - Throws: ``/WebImageCore/ImageError/Code/unreadable`` if there is no such file,
    ///   ``/WebImageCore/ImageError/Code/encodingFailed`` if the thumbnail cannot be written.
    public func store(_ image: WebImage, for file: URL, size: Size = .large) throws(ImageError) {
        guard let source = SourceFile(file), !contains(source) else { throw .noThumbnail(of: file) }
        _ = try store(image, for: source, size)
    }

    /// Writes a thumbnail, and returns the PNG file.
    func store(_ image: WebImage, for source: SourceFile, _ size: Size) throws(ImageError) -> Data {
        let box = PixelSize(width: size.rawValue, height: size.rawValue)
        let target = DecodeSize.contain(box).target(for: image.pixelSize)
        guard let pixels = image.pixels.resized(to: target, orientation: .up) else {
            throw .noMemory(toEncode: "a thumbnail of \(target) pixels")
        }
        let png = try PNGEncoder().encode(pixels, as: .png, options: EncodeOptions())
        var texts = source.texts
        texts.append(("Thumb::Image::Width", "\(image.naturalSize.width)"))
        texts.append(("Thumb::Image::Height", "\(image.naturalSize.height)"))
        return try write(PNGText.adding(texts, to: png), for: source, size.directory)
    }

    /// Stores a PNG file that another program has made as a thumbnail.
    func store(file png: Data, for source: SourceFile, _ size: Size) throws(ImageError) -> Data {
        try write(PNGText.adding(source.texts, to: png), for: source, size.directory)
    }

    /// Records that no thumbnail can be made of the current file.
    func storeFailure(of source: SourceFile) {
        guard let pixel = PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb, fill: { _ in }),
            let png = try? PNGEncoder().encode(pixel, as: .png, options: EncodeOptions())
        else { return }
        _ = try? write(PNGText.adding(source.texts, to: png), for: source, Self.failures)
    }

    func hasFailure(of source: SourceFile) -> Bool { read(source, in: Self.failures) != nil }

    private func write(_ data: Data, for source: SourceFile, _ folder: String) throws(ImageError) -> Data {
        do {
            // FileStore creates files with mode 0600 and directories with mode 0700, as the standard requires.
            try FileStore().write([data], to: "\(directory)/\(folder)/\(source.fileName)")
            return data
        } catch {
            throw .encodingFailed(
                "The thumbnail cannot be written (\(error))",
                remedy: "Make sure that the user may write to \(directory), and that its disk has room."
            )
        }
    }

    /// A thumbnail that matches the current file.
    func thumbnail(of source: SourceFile, longestSide: Int) -> SharedThumbnail? {
        let sizes = Size.allCases
        let preferred =
            sizes.filter { $0.rawValue >= longestSide } + sizes.filter { $0.rawValue < longestSide }.reversed()
        for size in preferred {
            guard let (data, texts) = read(source, in: size.directory) else { continue }
            var thumbnail = SharedThumbnail(data: data)
            if let width = texts["Thumb::Image::Width"].flatMap({ Int($0) }), width > 0,
                let height = texts["Thumb::Image::Height"].flatMap({ Int($0) }), height > 0
            {
                thumbnail.naturalSize = PixelSize(width: width, height: height)
            } else if let head = try? FileStore().readHead(pathBytes: source.path, byteCount: Self.headByteCount) {
                thumbnail.naturalSize = ImageHeader(reading: head)?.size
            }
            return thumbnail
        }
        return nil
    }

    private func read(_ source: SourceFile, in folder: String) -> (Data, [String: String])? {
        let path = "\(directory)/\(folder)/\(source.fileName)"
        guard let data = try? FileStore().read(path, maximumByteCount: Self.largestByteCount) else { return nil }
        let texts = PNGText.texts(in: data)
        return source.isSource(of: texts) ? (data, texts) : nil
    }

    /// Whether a file is itself a thumbnail. The standard forbids thumbnails of thumbnails.
    func contains(_ source: SourceFile) -> Bool { source.path.starts(with: Array("\(directory)/".utf8)) }
}

extension DesktopThumbnails: SharedThumbnailFinding {
    package func thumbnail(of file: URL, longestSide: Int) -> SharedThumbnail? {
        guard let source = SourceFile(file), !contains(source) else { return nil }
        return thumbnail(of: source, longestSide: longestSide)
    }
}

extension ImageManager.Configuration {
    /// The thumbnails that local files show while they are decoded, if they load with ImageRequest.Loading.progressive. Default:
    /// none.
    ///
    ///     configuration.desktopThumbnails = .standard
    public var desktopThumbnails: DesktopThumbnails? {
        get { thumbnails as? DesktopThumbnails }
        set { thumbnails = newValue }
    }
}

/// The source file of a thumbnail.
struct SourceFile {
    /// The path, which need not be UTF-8.
    let path: [UInt8]
    /// The URI as GLib writes it. The name of the thumbnail is a hash of it.
    let uri: String
    private let modified: Int64
    private let byteCount: Int64

    /// - Returns: `nil` if the URL does not name a regular file.
    init?(_ file: URL) {
        guard file.scheme?.lowercased() == "file", let path = try? LocalLoader.localPathBytes(of: file) else {
            return nil
        }
        var status = stat()
        let bytes = path + [0]
        let (code, uri) = bytes.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { name in
                let code = stat(name.baseAddress!, &status)
                let uri = code == 0 ? g_filename_to_uri(name.baseAddress, nil, nil) : nil
                defer { g_free(uri) }
                return (code, uri.map { String(cString: $0) })
            }
        }
        guard code == 0, status.st_mode & S_IFMT == S_IFREG, let uri else { return nil }
        self.path = path
        self.uri = uri
        // timespec begins with the seconds. The compiler attributes the field to a module that cannot be imported.
        modified = Int64(withUnsafeBytes(of: status.st_mtim) { $0.load(as: time_t.self) })
        byteCount = Int64(status.st_size)
    }

    var fileName: String { Self.fileName(ofURI: uri) }

    /// The name of the thumbnail of a URI: its MD5, as the standard requires.
    static func fileName(ofURI uri: String) -> String {
        let digest = g_compute_checksum_for_string(G_CHECKSUM_MD5, uri, -1)
        defer { g_free(digest) }
        return digest.map { String(cString: $0) + ".png" } ?? ""
    }

    /// The texts that identify the file in its thumbnail.
    var texts: [(key: String, value: String)] {
        [
            ("Thumb::URI", uri), ("Thumb::MTime", "\(modified)"), ("Thumb::Size", "\(byteCount)"),
            ("Software", "GtkWebImage"),
        ]
    }

    /// Whether the texts of a thumbnail match the current file.
    func isSource(of texts: [String: String]) -> Bool {
        // Some programs write fractions of a second.
        let seconds = texts["Thumb::MTime"]?.prefix { $0 != "." }
        guard texts["Thumb::URI"] == uri, let seconds, Int64(seconds) == modified else { return false }
        return texts["Thumb::Size"].map { Int64($0) == byteCount } ?? true
    }
}

extension ImageError {
    static func noThumbnail(of file: URL) -> ImageError {
        ImageError(
            .unreadable,
            url: file,
            reason: "There is no thumbnail of the file",
            remedy: "Load it with createsMissing, or install a thumbnailer for files of its kind."
        )
    }
}
