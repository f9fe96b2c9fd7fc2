public import FoundationEssentials

/// The files of one image in several sizes, each with a URL, of which a load takes the one that fits: what `srcset` is in
/// HTML.
///
///     let variants = ImageVariants(url: small, widths: [400: small, 800: medium, 1600: large])
///     picture.setImage(with: variants)
///
/// A load takes the smallest file that is large enough for its ``ImageRequest/decodeSize`` in pixels or, where the files
/// differ in density, for the screen; the largest if none is. A widget knows both. A load without a size takes the largest.
/// A larger file that the caches have serves instead of a download. Each file has its own place in the caches.
public struct ImageVariants: Hashable, Sendable {
    /// The size of one file.
    enum Descriptor: Hashable, Sendable {
        /// The width in pixels.
        case width(Int)
        /// Pixels of the file per application pixel.
        case density(Double)
        /// The size at which the server has the image.
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

    /// The URL of the image where one is needed, such as that of the attribute `src` in HTML. It is loaded if there are no
    /// others.
    public let url: URL
    /// The width of the image divided by its height. Default: `nil`, for not known; then it is taken to be 1.5, and an image
    /// that turns out to be drawn larger is loaded again by its widget.
    public var aspectRatio: Double?
    let source: Source

    /// The largest number of files. Others are ignored, since a server may send a list of any length.
    static let maximumCount = 64

    /// Creates the variants of an image from files of different widths.
    /// - Parameters:
    ///   - url: The URL of the image where one is needed; see ``url``.
    ///   - widths: The URLs by the width of their files in pixels. Widths that are not positive are ignored, and so is what
    ///     exceeds 64 files.
    public init(url: URL, widths: [Int: URL]) {
        self.init(url: url, files: widths.map { File(url: $0.value, descriptor: .width($0.key)) })
    }

    /// Creates the variants of an image from files for screens of different density.
    /// - Parameters:
    ///   - url: The URL of the image where one is needed; see ``url``. It is the file for density 1 if there is no other.
    ///   - densities: The URLs by the pixels of their files per application pixel, such as 1, 1.5 and 2. Others than
    ///     positive numbers are ignored, and so is what exceeds 64 files.
    public init(url: URL, densities: [Double: URL]) {
        let files = densities.map { File(url: $0.value, descriptor: .density($0.key)) }
        self.init(url: url, files: files + [File(url: url, descriptor: .density(1))])
    }

    /// Creates the variants of an image whose server scales it.
    init(_ image: ScaledImage) {
        url = image.url
        aspectRatio = image.aspectRatio
        source = .scaler(image)
    }

    /// Makes the variants of an image, of which the first one with a descriptor counts.
    init(url: URL, files: [File]) {
        self.url = url
        var kept: [(file: File, size: Double)] = []
        // A list is one of widths or of densities.
        let hasWidths = files.contains { $0.width != nil }
        for file in files where kept.count < Self.maximumCount {
            guard let size = hasWidths ? file.width : file.density, !kept.contains(where: { $0.size == size }) else {
                continue
            }
            kept.append((file, size))
        }
        source = .files(kept.sorted { $0.size < $1.size }.map(\.file))
    }

    /// The URLs of the files, from the smallest to the largest. A server that scales images has one for each step of its
    /// widths.
    package var urls: [URL] { ranks.map(url(at:)) }
}

// A file is known by its rank: its place among the others, the smallest first.
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

    /// The name of the files in the caches, if it is not their URLs, without what tells them apart.
    /// - Parameter key: Returns the app's own key of a URL.
    func cacheName(_ key: (URL) -> String?) -> String? {
        guard case .scaler(let image) = source else { return nil }
        let name = key(url) ?? url.textForKeys
        return image.scaler.name.isEmpty ? name : "\(name) \(image.scaler.name)"
    }

    /// The smallest file that is large enough for a size in pixels on a screen; the largest if none is, or nothing is known.
    package func rank(for size: DecodeSize, displayScale: Double?) -> Int? {
        guard let last = ranks.last else { return nil }
        guard case .density = descriptor(at: last) else {
            guard let width = width(for: size) else { return last }
            return ranks.first { descriptor(at: $0).isEnough(forWidth: width) } ?? last
        }
        guard let displayScale else { return last }
        return ranks.first { descriptor(at: $0).isEnough(forScale: displayScale) } ?? last
    }

    /// The width in pixels of an image of any resolution that is decoded at a size; `nil` for its own.
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
    /// What tells the files of one image apart in the keys of the caches.
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
        // Scales of screens are fractions of 120, which decimal numbers in lists only come close to.
        if case .density(let own) = self { own > scale - 0.01 } else { true }
    }
}

/// An image that its server scales to any width.
struct ScaledImage: Hashable, Sendable {
    let url: URL
    let scaler: ImageScaler

    /// - Parameter url: The URL of the image without the server that scales it.
    init(_ url: URL, by scaler: ImageScaler) {
        self.url = url
        self.scaler = scaler
    }

    var aspectRatio: Double? { scaler.aspectRatio }

    fileprivate func url(at rank: Int) -> URL {
        scaler.makeURL(url, rank < scaler.widths.count ? scaler.widths[rank] : nil) ?? url
    }
}

/// What makes the scaler of a manager: a service of WebImageServices.
package protocol ImageScaling: Sendable {
    func makeScaler() -> ImageScaler
}

/// A server that scales images, with the steps of the widths that it is asked for. A change of it is another scaler.
package final class ImageScaler: Hashable, Sendable {
    /// What tells its images from those of others in the keys of the caches.
    let name: String
    let widths: [Int]
    let aspectRatio: Double?
    let makeURL: @Sendable (_ source: URL, _ width: Int?) -> URL?
    private let isApplied: @Sendable (URL) -> Bool

    /// - Parameters:
    ///   - widths: The steps in pixels, which are put in order. Beyond the last one the image comes at its own size.
    ///   - aspectRatio: The shape that the server gives to images; `nil` for their own.
    ///   - isApplied: Whether an image goes through the server.
    ///   - makeURL: Returns the URL of an image at a width, or at its own size for `nil`; `nil` where that is not possible.
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

    /// The variants of an image that goes through the server.
    func variants(of url: URL) -> ImageVariants? {
        isApplied(url) ? ImageVariants(ScaledImage(url, by: self)) : nil
    }

    package static func == (lhs: ImageScaler, rhs: ImageScaler) -> Bool { lhs === rhs }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
