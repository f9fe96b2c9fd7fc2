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

    /// The profile of code points (cICP; ITU-T H.273, tables 2 and 3); `nil` for HDR, which does not fit in eight bits, and for
    /// unknown code points.
    private static func profile(codePoints: ByteReader) -> Data? {
        // RGB in full range.
        guard codePoints.uint8(2) == 0, codePoints.uint8(3) == 1 else { return nil }
        let primaries: [Double]
        switch codePoints.uint8(0) {
        case 1: primaries = Array(sRGB.dropFirst(2))
        case 5: primaries = [0.64, 0.33, 0.29, 0.60, 0.15, 0.06]
        case 6, 7: primaries = [0.630, 0.340, 0.310, 0.595, 0.155, 0.070]
        case 9: primaries = [0.708, 0.292, 0.170, 0.797, 0.131, 0.046]
        case 12: primaries = [0.680, 0.320, 0.265, 0.690, 0.150, 0.060]
        default: return nil
        }
        let curve: [Double]
        switch codePoints.uint8(1) {
        case 1, 6, 14, 15: curve = [1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081]
        case 4: curve = [2.2]
        case 5: curve = [2.8]
        case 8: curve = [1]
        case 13: curve = ColorConversion.sRGBCurve
        default: return nil
        }
        return ColorConversion.profile(sRGB.prefix(2) + primaries, curve: curve)
    }
}
