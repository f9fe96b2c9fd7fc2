internal import CWebImageLCMS
package import FoundationEssentials

/// ICC colour profiles that Little CMS makes for tests.
package enum TestProfile {
    /// sRGB as Little CMS describes it.
    package static let sRGB = save(cmsCreate_sRGBProfile())

    /// sRGB with red and green swapped.
    package static let swapped: Data = {
        let (red, green, blue) = ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06))
        func point(_ xy: (Double, Double)) -> cmsCIExyY { cmsCIExyY(x: xy.0, y: xy.1, Y: 1) }
        var white = point((0.3127, 0.3290))
        var primaries = cmsCIExyYTRIPLE(Red: point(green), Green: point(red), Blue: point(blue))
        // The transfer curve of sRGB (IEC 61966-2-1)
        let parameters = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]
        guard let curve = cmsBuildParametricToneCurve(nil, 4, parameters) else { return Data() }
        defer { cmsFreeToneCurve(curve) }
        let curves: [OpaquePointer?] = [curve, curve, curve]
        return curves.withUnsafeBufferPointer { save(cmsCreateRGBProfile(&white, &primaries, $0.baseAddress)) }
    }()

    private static func save(_ profile: cmsHPROFILE?) -> Data {
        guard let profile else { return Data() }
        defer { cmsCloseProfile(profile) }
        var count: UInt32 = 0
        guard cmsSaveProfileToMem(profile, nil, &count) != 0 else { return Data() }
        var data = Data(count: Int(count))
        _ = data.withUnsafeMutableBytes { cmsSaveProfileToMem(profile, $0.baseAddress, &count) }
        return data
    }
}
