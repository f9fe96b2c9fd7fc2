public import FoundationEssentials

/// The files of one image in several sizes, each with a URL. A load chooses the file that fits, as `srcset` does in HTML.
///
///     let variants = ImageVariants(url: small, widths: [400: small, 800: medium, 1600: large])
///     picture.setImage(with: variants)
///
/// A load chooses the smallest file that is large enough for its ``ImageRequest/decodeSize`` in pixels or, if the files differ in
/// density, for the screen; otherwise the largest. A widget supplies its size and screen. A load without a size chooses the largest
/// file. A larger file in the caches is used instead of a download. The caches store each file separately.
public struct ImageVariants: Hashable, Sendable {
    /// The size of one file.
    enum Descriptor: Hashable, Sendable {
        /// The width in pixels.
        case width(Int)
        /// Pixels of the file per application pixel.
        case density(Double)
        /// The original size on the server.
        case full
    }

    /// The files, from the smallest to the largest.
    enum Source: Hashable, Sendable {
        case files([File])
        case scaler(ScaledImage)
    }

    struct File: Hashable, Sendable {
        let url: URL
        let descriptor: Descriptor
    }

    /// The URL that stands for the image, such as `src` in HTML. It is loaded if there are no other files.
    public let url: URL
    /// The width of the image divided by its height. Default: `nil`, which assumes 1.5; if the image turns out to be drawn larger,
    /// its widget loads a larger file.
    public var aspectRatio: Double?
    let source: Source

    /// The largest number of files. Further files are ignored, since a server may send a list of any length.
    static let maximumCount = 64

    /// Creates the variants of an image from files of different widths.
    /// - Parameters:
    ///   - url: The URL that stands for the image; see ``url``.
    ///   - widths: The URLs by the widths of their files in pixels. Widths below 1, and files beyond the 64th, are ignored.
    public init(url: URL, widths: [Int: URL]) {
        self.init(url: url, files: widths.map { File(url: $0.value, descriptor: .width($0.key)) })
    }

    /// Creates the variants of an image from files for screens of different density.
    /// - Parameters:
    ///   - url: The URL that stands for the image; see ``url``. It is the file for density 1 if `densities` has none.
    ///   - densities: The URLs by the pixels of their files per application pixel, such as 1, 1.5 and 2. Densities that are not
    ///     positive and finite, and files beyond the 64th, are ignored.
    public init(url: URL, densities: [Double: URL]) {
        let files = densities.map { File(url: $0.value, descriptor: .density($0.key)) }
        self.init(url: url, files: files + [File(url: url, descriptor: .density(1))])
    }

    /// Creates the variants of an image that a server scales.
    init(_ image: ScaledImage) {
        url = image.url
        aspectRatio = image.aspectRatio
        source = .scaler(image)
    }

    /// Makes the variants of an image. Of several files with equal descriptors, the first counts.
    init(url: URL, files: [File]) {
        self.url = url
        var kept: [(file: File, size: Double)] = []
        // A list has either widths or densities.
        let hasWidths = files.contains { $0.width != nil }
        for file in files where kept.count < Self.maximumCount {
            guard let size = hasWidths ? file.width : file.density, !kept.contains(where: { $0.size == size }) else {
                continue
            }
            kept.append((file, size))
        }
        source = .files(kept.sorted { $0.size < $1.size }.map(\.file))
    }

    /// The URLs of the files, from the smallest to the largest. A server that scales images has one URL for each width step, and
    /// one for the original size.
    package var urls: [URL] { ranks.map(url(at:)) }
}

// The rank of a file is its position among the others, the smallest first.
extension ImageVariants {
    var ranks: Range<Int> {
        switch source {
        case .files(let files): 0..<files.count
        case .scaler(let image): 0..<image.scaler.widths.count + 1
        }
    }

    func url(at rank: Int) -> URL {
        switch source {
        case .files(let files): files[rank].url
        case .scaler(let image): image.url(at: rank)
        }
    }

    func descriptor(at rank: Int) -> Descriptor {
        switch source {
        case .files(let files): return files[rank].descriptor
        case .scaler(let image):
            let widths = image.scaler.widths
            return rank < widths.count ? .width(widths[rank]) : .full
        }
    }

    /// The common name of the files in the caches; `nil` if their URLs are the keys.
    /// - Parameter key: Returns the app's key of a URL, if any.
    func cacheName(_ key: (URL) -> String?) -> String? {
        guard case .scaler(let image) = source else { return nil }
        let name = key(url) ?? url.textForKeys
        return image.scaler.name.isEmpty ? name : "\(name) \(image.scaler.name)"
    }

    /// The smallest file that is large enough for a size in pixels on a screen; otherwise, or without a size, the largest.
    package func rank(for size: DecodeSize, displayScale: Double?) -> Int? {
        guard let last = ranks.last else { return nil }
        guard case .density = descriptor(at: last) else {
            guard let width = width(for: size) else { return last }
            return ranks.first { descriptor(at: $0).isEnough(forWidth: width) } ?? last
        }
        guard let displayScale else { return last }
        return ranks.first { descriptor(at: $0).isEnough(forScale: displayScale) } ?? last
    }

    /// The width in pixels at which an image of any resolution is decoded; `nil` for its original size.
    private func width(for size: DecodeSize) -> Int? {
        if case .original = size { return nil }
        let height = 1 << 20
        let ratio = (aspectRatio ?? 1.5).bounded(to: 0.001...1000, ifNaN: 1.5)
        let endless = PixelSize(width: Int((Double(height) * ratio).rounded()), height: height)
        return size.target(for: endless).width
    }
}

extension ImageVariants.File {
    fileprivate var width: Double? {
        if case .width(let width) = descriptor, width > 0 { Double(width) } else { nil }
    }

    fileprivate var density: Double? {
        if case .density(let density) = descriptor, density > 0, density.isFinite { density } else { nil }
    }
}

extension ImageVariants.Descriptor {
    /// Distinguishes the files of one image in cache keys.
    var label: String {
        switch self {
        case .width(let width): "\(width)w"
        case .density(let density): "\(density)x"
        case .full: "full"
        }
    }

    fileprivate func isEnough(forWidth width: Int) -> Bool {
        if case .width(let own) = self { own >= width } else { true }
    }

    fileprivate func isEnough(forScale scale: Double) -> Bool {
        // Scales of screens are fractions of 120, which decimal numbers only approximate.
        if case .density(let own) = self { own > scale - 0.01 } else { true }
    }
}

/// An image that a server scales to any width.
struct ScaledImage: Hashable, Sendable {
    let url: URL
    let scaler: ImageScaler

    /// - Parameter url: The URL of the image on its own server.
    init(_ url: URL, by scaler: ImageScaler) {
        self.url = url
        self.scaler = scaler
    }

    var aspectRatio: Double? { scaler.aspectRatio }

    fileprivate func url(at rank: Int) -> URL {
        scaler.makeURL(url, rank < scaler.widths.count ? scaler.widths[rank] : nil) ?? url
    }
}

/// Makes the scaler of a manager; implemented by the services of WebImageServices.
package protocol ImageScaling: Sendable {
    func makeScaler() -> ImageScaler
}

/// A server that scales images, with the widths in which it is asked for them. Scalers are equal only if identical.
package final class ImageScaler: Hashable, Sendable {
    /// Distinguishes the images of this scaler from images of other scalers in cache keys.
    let name: String
    let widths: [Int]
    let aspectRatio: Double?
    let makeURL: @Sendable (_ source: URL, _ width: Int?) -> URL?
    private let isApplied: @Sendable (URL) -> Bool

    /// - Parameters:
    ///   - widths: The steps in pixels, in any order. Above the largest, the image is loaded at its original size.
    ///   - aspectRatio: The aspect ratio that the server crops images to; `nil` if it does not.
    ///   - isApplied: Whether the server scales an image.
    ///   - makeURL: Returns the URL of an image at a width, or at its original size for `nil`; `nil` if there is no such URL.
    package init(
        name: String,
        widths: some Sequence<Int>,
        aspectRatio: Double?,
        isApplied: @escaping @Sendable (URL) -> Bool,
        makeURL: @escaping @Sendable (_ source: URL, _ width: Int?) -> URL?
    ) {
        self.name = name
        self.widths = Array(Set(widths.filter { $0 > 0 }).sorted().prefix(ImageVariants.maximumCount))
        self.aspectRatio = aspectRatio
        self.isApplied = isApplied
        self.makeURL = makeURL
    }

    /// The variants of an image that the server scales; `nil` for other images.
    func variants(of url: URL) -> ImageVariants? {
        isApplied(url) ? ImageVariants(ScaledImage(url, by: self)) : nil
    }

    package static func == (lhs: ImageScaler, rhs: ImageScaler) -> Bool { lhs === rhs }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
