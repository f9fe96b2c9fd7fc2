package import FoundationEssentials
package import WebImageCore

/// The decoded thumbnail of a JPEG file, shown until more of the image is decoded.
struct JPEGThumbnail {
    /// EXIF specifies 160x120, and some cameras write 512x384. Decoding a larger thumbnail would take too long.
    private static let longestSide = 512
    /// A smaller thumbnail shows nothing useful.
    private static let shortestLongSide = 32
    /// The largest size to which a thumbnail is scaled. GTK scales it further while drawing.
    private static let largestPixelCount = 1 << 18
    /// The largest difference from the image's aspect ratio in percent, since sides are rounded.
    private static let tolerance = 3
    /// The largest mean of a channel in a black bar.
    private static let darkest = 32

    private let pixels: PixelBuffer
    /// The part of the pixels without black bars.
    private let content: PixelRect
    /// The thumbnail's own color profile, which is rare.
    private let profile: Data?

    /// Decodes the first intact thumbnail of an image; `nil` if none can be a small version of the image.
    init?(_ thumbnails: [EmbeddedThumbnail], of image: ImageHeader, _ options: DecodeOptions) {
        for thumbnail in thumbnails {
            var profile: Data?
            let decoded =
                switch thumbnail {
                case .jpeg(let file): Self.decode(file, for: image, options, profile: &profile)
                case .pixels(let bytes, let size, let hasPalette):
                    Self.isUseful(size, for: image) ? Self.copy(bytes, size, hasPalette: hasPalette) : nil
                }
            guard let decoded, let content = Self.content(of: decoded, as: image.storedSize) else { continue }
            (pixels, self.content, self.profile) = (decoded, content, profile)
            return
        }
        return nil
    }

    private static func isUseful(_ size: PixelSize, for image: ImageHeader) -> Bool {
        let longest = max(size.width, size.height)
        return longest >= shortestLongSide && longest <= longestSide
            && longest < max(image.storedSize.width, image.storedSize.height)
    }

    private static func decode(
        _ file: Data,
        for image: ImageHeader,
        _ options: DecodeOptions,
        profile: inout Data?
    ) -> PixelBuffer? {
        // EXIF allows only one scan; more would multiply the time. The frame must precede the scan, since its header has the size.
        guard let header = ImageHeader(reading: file), header.format == .jpeg, header.workingByteCount == 0,
            isUseful(header.storedSize, for: image), var reader = JPEGReader(options)
        else { return nil }
        return file.withUnsafeBytes { bytes -> PixelBuffer? in
            do throws(ImageError) {
                reader.setFile(bytes)
                guard try reader.readHeader() == header.storedSize else { return nil }
                profile = reader.profile
                guard try reader.setUp(divisor: 1) == header.storedSize else { return nil }
                var isDone = false
                let pixels = try PixelBuffer(size: header.storedSize, format: .rgb) { memory throws(ImageError) in
                    let start = memory.bindMemory(to: UInt8.self).baseAddress!
                    isDone = try reader.decode(into: start, width: header.storedSize.width).isDone
                }
                return isDone && !reader.hasWarned ? pixels : nil
            } catch {
                return nil
            }
        }
    }

    private static func copy(_ bytes: Data, _ size: PixelSize, hasPalette: Bool) -> PixelBuffer? {
        PixelBuffer(size: size, format: .rgb) { memory in
            bytes.withUnsafeBytes { bytes in
                guard hasPalette else { return memory.copyMemory(from: bytes) }
                for pixel in 0..<size.pixelCount {
                    for channel in 0..<3 { memory[pixel * 3 + channel] = bytes[Int(bytes[768 + pixel]) * 3 + channel] }
                }
            }
        }
    }

    /// The part of a thumbnail with the aspect ratio of the image: all of it, or the part between the black bars with which cameras
    /// fill a 4:3 thumbnail. `nil` if the thumbnail shows another image or part.
    private static func content(of pixels: PixelBuffer, as image: PixelSize) -> PixelRect? {
        let size = pixels.size
        let (width, height) = (size.width * image.height, size.height * image.width)
        func fits(_ width: Int, _ height: Int) -> Bool { abs(width - height) * 100 <= max(width, height) * tolerance }
        if fits(width, height) { return PixelRect(x: 0, y: 0, width: size.width, height: size.height) }
        var content = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        let bars: [PixelRect]
        if width < height {
            content.size.height = (width + image.width / 2) / image.width
            content.y = (size.height - content.size.height) / 2
            let below = content.y + content.size.height
            bars = [
                PixelRect(x: 0, y: 0, width: size.width, height: content.y),
                PixelRect(x: 0, y: below, width: size.width, height: size.height - below),
            ]
        } else {
            content.size.width = (height + image.height / 2) / image.height
            content.x = (size.width - content.size.width) / 2
            let right = content.x + content.size.width
            bars = [
                PixelRect(x: 0, y: 0, width: content.x, height: size.height),
                PixelRect(x: right, y: 0, width: size.width - right, height: size.height),
            ]
        }
        let isSame = fits(content.size.width * image.height, content.size.height * image.width)
        return isSame && bars.allSatisfy { isDark($0, of: pixels) } ? content : nil
    }

    private static func isDark(_ bar: PixelRect, of pixels: PixelBuffer) -> Bool {
        guard bar.size.width > 0, bar.size.height > 0 else { return false }
        let sum = pixels.withUnsafeBytes { bytes in
            (bar.y..<bar.y + bar.size.height).reduce(0) { sum, y in
                let start = y * pixels.bytesPerRow + bar.x * 3
                return bytes[start..<start + bar.size.width * 3].reduce(sum) { $0 + Int($1) }
            }
        }
        return sum <= darkest * bar.size.width * bar.size.height * 3
    }

    /// The pixels without black bars, valid while the thumbnail exists.
    private var rows: PixelRows {
        PixelRows(
            start: pixels.baseAddress + content.y * pixels.bytesPerRow + content.x * 3,
            size: content.size,
            bytesPerRow: pixels.bytesPerRow,
            layout: .rgb
        )
    }

    /// The thumbnail as a partial image, with the sizes of the image and upright.
    /// - Parameter profile: The color profile of the image.
    func partialImage(of header: ImageHeader, profile: Data?, _ options: DecodeOptions) -> WebImage? {
        let decoded = options.size.target(for: header.size)
        let size = DecodeSize.within(byteCount: Self.largestPixelCount * 4).target(for: decoded)
        // Colors are converted before scaling up, while there are few pixels, and in a copy because this happens in place.
        let copy = withExtendedLifetime(pixels) { PixelBuffer(rows, orientation: .up) }
        let small = copy.map { WebImage(pixels: $0).converted(from: profile, options).content.pixels }
        guard let small else { return nil }
        let pixels = withExtendedLifetime(small) {
            small.rows.resized(to: header.turn.apply(to: size), orientation: header.turn)
        }
        return pixels.map { pixels in
            WebImage(
                pixels: pixels.tagged(small.colors.gamut),
                naturalSize: header.size,
                format: .jpeg,
                header.orientation,
                options
            ).with { content in
                (content.isPartial, content.isThumbnail, content.decodedSize) = (true, true, decoded)
            }
        }
    }

    /// Whether the thumbnail has the color profile of the image, so that both can be parts of one partial image.
    func hasColors(of profile: Data?) -> Bool { self.profile == nil || self.profile == profile }

    /// Fills the rows of an image that have not arrived.
    func fill(_ canvas: UnsafeMutablePointer<UInt8>, _ size: PixelSize, from row: Int) {
        withExtendedLifetime(pixels) { AreaScaler.scale(rows, to: size, from: row, into: canvas) }
    }
}

extension JPEGCoder {
    package var findsThumbnails: Bool { true }

    package func thumbnail(in data: Data, options: DecodeOptions) -> WebImage? {
        guard let header = ImageHeader(reading: data)?.turned(by: options), header.format == .jpeg,
            (try? options.check(header.size)) != nil,
            let thumbnail = JPEGThumbnail(
                data.withUnsafeBytes { EmbeddedThumbnail.all(in: ByteReader($0)) },
                of: header,
                options
            )
        else { return nil }
        let profile = data.withUnsafeBytes { bytes -> Data? in
            guard let reader = JPEGReader(options) else { return nil }
            reader.setFile(bytes)
            guard (try? reader.readHeader()) != nil else { return nil }
            return reader.profile
        }
        return thumbnail.hasColors(of: profile) ? thumbnail.partialImage(of: header, profile: profile, options) : nil
    }
}
