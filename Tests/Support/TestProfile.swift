internal import CWebImageLCMS
package import FoundationEssentials

/// ICC colour profiles that Little CMS makes for tests.
package enum TestProfile {
    /// sRGB as Little CMS describes it.
    package static let sRGB = save(cmsCreate_sRGBProfile())

    /// sRGB with red and green swapped.
    package static let swapped = profile(red: (0.30, 0.60), green: (0.64, 0.33), blue: (0.15, 0.06))

    /// Display P3 (SMPTE EG 432-1 with the white point D65).
    package static let displayP3 = profile(red: (0.680, 0.320), green: (0.265, 0.690), blue: (0.150, 0.060))

    /// A gamut wider than Display P3 in green, with the primaries of ITU-R BT.2020.
    package static let wide = profile(red: (0.708, 0.292), green: (0.170, 0.797), blue: (0.131, 0.046))

    private static func profile(red: (Double, Double), green: (Double, Double), blue: (Double, Double)) -> Data {
        func point(_ xy: (Double, Double)) -> cmsCIExyY { cmsCIExyY(x: xy.0, y: xy.1, Y: 1) }
        var white = point((0.3127, 0.3290))
        var primaries = cmsCIExyYTRIPLE(Red: point(red), Green: point(green), Blue: point(blue))
        // The transfer curve of sRGB (IEC 61966-2-1)
        let parameters = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]
        guard let curve = cmsBuildParametricToneCurve(nil, 4, parameters) else { return Data() }
        defer { cmsFreeToneCurve(curve) }
        let curves: [OpaquePointer?] = [curve, curve, curve]
        return curves.withUnsafeBufferPointer { save(cmsCreateRGBProfile(&white, &primaries, $0.baseAddress)) }
    }

    /// Grey levels that are proportional to light.
    package static let linearGrey: Data = {
        var white = cmsCIExyY(x: 0.3127, y: 0.3290, Y: 1)
        guard let curve = cmsBuildGamma(nil, 1) else { return Data() }
        defer { cmsFreeToneCurve(curve) }
        return save(cmsCreateGrayProfile(&white, curve))
    }()

    /// A press whose cyan ink is red, on white paper. All other inks print black.
    package static let redCyan: Data = {
        guard let profile = cmsCreateProfilePlaceholder(nil), let stages = cmsPipelineAlloc(nil, 4, 3) else {
            return Data()
        }
        defer { cmsPipelineFree(stages) }
        cmsSetProfileVersion(profile, 2.1)
        cmsSetDeviceClass(profile, cmsSigOutputClass)
        cmsSetColorSpace(profile, cmsSigCmykData)
        cmsSetPCS(profile, cmsSigLabData)
        // CIE L*a*b* of the 16 combinations of full inks, black fastest, as ICC.1:2001 encodes it in 16 bits.
        func lab(_ light: Double, _ a: Double, _ b: Double) -> [UInt16] {
            [UInt16(light * 652.8), UInt16((a + 128) * 256), UInt16((b + 128) * 256)]
        }
        let colors = (0..<16).flatMap { inks in
            switch inks {
            case 0: lab(100, 0, 0)
            case 8: lab(54.29, 80.81, 69.89)
            default: lab(0, 0, 0)
            }
        }
        cmsPipelineInsertStage(stages, cmsAT_END, cmsStageAllocCLut16bit(nil, 2, 4, 3, colors))
        cmsWriteTag(profile, cmsSigAToB0Tag, UnsafeRawPointer(stages))
        return save(profile)
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
