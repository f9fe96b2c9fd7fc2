import ArgumentParser
import Foundation
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// What `Tests/bench screen` loads: the URLs of images, and what serves them.
struct ScreenList {
    /// The lists that the benchmark makes. What other lists show depends on the machine of whoever has them.
    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case jpeg, tls, local, webp, png, progressive, partial, full

        var title: String {
            switch self {
            case .jpeg: "JPEG over HTTP/1.1"
            case .tls: "JPEG over TLS and HTTP/2"
            case .local: "JPEG in local files"
            case .webp: "WebP over HTTP/1.1"
            case .png: "PNG over HTTP/1.1"
            case .progressive: "progressive JPEG over HTTP/1.1"
            case .partial: "progressive JPEG over HTTP/1.1, with partial images"
            case .full: "JPEG over HTTP/1.1 at full size"
            }
        }

        /// The number of images.
        var count: Int {
            switch self {
            case .jpeg, .tls, .local: 500
            case .webp: 200
            case .png, .full: 100
            case .progressive, .partial: 20
            }
        }

        /// The size of the files.
        var size: PixelSize {
            switch self {
            case .jpeg, .tls, .local, .webp, .full: Photograph.size
            case .png: PixelSize(width: 800, height: 600)
            case .progressive, .partial: PixelSize(width: 4000, height: 3000)
            }
        }
    }

    let kind: Kind?
    let title: String
    let urls: [URL]
    /// The certificate authority of the server.
    var authorityFile = ""
    private var server: Nginx?

    /// Makes files and serves them.
    /// - Parameters:
    ///   - count: Their number. Default: that of the kind.
    ///   - size: Their size in pixels. Default: that of the kind.
    ///   - isFromGallery: Whether JPEG files are those of the gallery.
    ///   - folder: Where the files are made.
    init(_ kind: Kind, count: Int?, size: PixelSize?, isFromGallery: Bool, in folder: String) throws {
        let (count, size) = (count ?? kind.count, size ?? kind.size)
        self.kind = kind
        let hasOwnSize = isFromGallery && [.jpeg, .tls, .local, .full].contains(kind)
        title = "\(count) \(kind.title), \(hasOwnSize ? "of the gallery" : "of \(size)")"
        let images = hasOwnSize ? Self.gallery : try Self.images(kind, min(count, 16), size, folder)
        guard kind != .local else {
            urls = try (0..<count).map { number in
                let url = URL(filePath: "\(folder)/\(number).jpg")
                try images[number % images.count].write(to: url)
                return url
            }
            return
        }
        let (server, urls) = try Photograph.serve(count: count, images: images)
        self.server = server
        guard kind == .tls else {
            self.urls = urls
            return
        }
        authorityFile = server.authorityFile
        self.urls = (0..<count).map { server.url("\($0).jpg", .good) }
    }

    /// Takes the URLs of a file with one a line.
    /// - Parameter kind: How they are loaded.
    init(file: String, as kind: Kind? = nil) throws {
        self.kind = kind
        title = file
        urls = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").compactMap {
            URL(string: String($0))
        }
    }

    private static var gallery: [Data] {
        ShippedImage.all.filter { $0.hasSuffix(".jpg") }.map(ShippedImage.data).filter { $0.count > 80_000 }
    }

    private static func images(_ kind: Kind, _ count: Int, _ size: PixelSize, _ folder: String) throws -> [Data] {
        switch kind {
        case .jpeg, .tls, .local, .full:
            return (0..<count).map { Photograph.jpeg(seed: $0, size: size) }
        case .png:
            return (0..<count).map { Photograph.file(seed: $0, size: size, format: .png) }
        case .webp:
            let coders = CoderRegistry.builtIn
            return try (0..<count).map { seed in
                try coders.encode(coders.decode(Photograph.jpeg(seed: seed, size: size)), as: .webp)
            }
        case .progressive, .partial:
            // Those of the default size are 20 megabytes a second to make.
            return try (0..<min(count, 4)).map { try Photograph.progressiveJPEG(seed: $0, size: size, in: folder) }
        }
    }
}
