package import FoundationEssentials

extension ColorConversion {
    /// The profile of code points (ITU-T H.273, tables 2 and 3); `nil` for sRGB, for HDR, which does not fit in eight bits, and for
    /// unknown code points.
    /// - Parameter isVideo: Whether the transfer functions of cameras stand for sRGB, since screens show images of video codecs so.
    package static func profile(primaries: UInt8, transfer: UInt8, isVideo: Bool = false) -> Data? {
        let points: [Double]
        switch primaries {
        case 1: points = [0.64, 0.33, 0.30, 0.60, 0.15, 0.06]
        case 5: points = [0.64, 0.33, 0.29, 0.60, 0.15, 0.06]
        case 6, 7: points = [0.630, 0.340, 0.310, 0.595, 0.155, 0.070]
        case 9: points = [0.708, 0.292, 0.170, 0.797, 0.131, 0.046]
        case 12: points = [0.680, 0.320, 0.265, 0.690, 0.150, 0.060]
        default: return nil
        }
        let curve: [Double]
        switch transfer {
        case 1, 6, 14, 15: curve = isVideo ? sRGBCurve : [1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081]
        case 2 where isVideo: curve = sRGBCurve
        case 4: curve = [2.2]
        case 5: curve = [2.8]
        case 8: curve = [1]
        case 13: curve = sRGBCurve
        default: return nil
        }
        return profile([0.3127, 0.3290] + points, curve: curve)
    }
}
