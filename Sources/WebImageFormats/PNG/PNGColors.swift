import FoundationEssentials
import WebImageCore

/// The colors that chunks of a PNG file specify (PNG specification, third edition, section 4.3), interpreted as in Chromium and
/// Skia.
enum PNGColors {
    private static let sRGB = [0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06]

    /// The profile of the colors; `nil` for sRGB.
    /// - Parameters:
    ///   - head: The file at least up to its pixels.
    ///   - embedded: The ICC profile in the file.
    static func profile(of head: Data, embedded: Data?) -> Data? {
        head.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            var chunks: [PNGChunks.Name: ByteReader] = [:]
            for chunk in PNGChunks(bytes) {
                guard chunk.isWhole, chunk.name != .pixels else { break }
                guard chunk.contents.count <= 32, PNGFile.hasValidChecksum(chunk, bytes) else { continue }
                chunks[chunk.name] = bytes.slice(chunk.contents.lowerBound, chunk.contents.count)
            }
            if let stated = chunks[PNGChunks.Name("cICP")].flatMap(profile(codePoints:)) ?? embedded { return stated }
            // libpng treats a gamma outside this range as damage.
            guard chunks[PNGChunks.Name("sRGB")] == nil, let gamma = chunks[PNGChunks.Name("gAMA")]?.uint32BE(0),
                16...625_000_000 ~= gamma
            else { return nil }
            let exponent = 100_000 / Double(gamma)
            if let chunk = chunks[PNGChunks.Name("cHRM")], chunk.count == 32 {
                let points = (0..<8).map { Double(chunk.uint32BE($0 * 4) ?? 0) / 100_000 }
                // Points outside the chromaticity diagram would make lcms compute invalid numbers.
                let arePoints = points.allSatisfy { $0 <= 1 } && points[1] > 0
                if arePoints, let profile = ColorConversion.profile(points, curve: [exponent]) { return profile }
            }
            // Like libpng, ignores a difference of less than 5 % from the exponent of most displays.
            return abs(2.2 / exponent - 1) < 0.05 ? nil : ColorConversion.profile(sRGB, curve: [exponent])
        }
    }

    /// The profile of a cICP chunk; `nil` for anything but RGB in full range.
    private static func profile(codePoints: ByteReader) -> Data? {
        guard let primaries = codePoints.uint8(0), let transfer = codePoints.uint8(1), codePoints.uint8(2) == 0,
            codePoints.uint8(3) == 1
        else { return nil }
        return ColorConversion.profile(primaries: primaries, transfer: transfer)
    }
}
