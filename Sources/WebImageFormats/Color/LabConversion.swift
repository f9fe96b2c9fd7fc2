internal import CWebImageLCMS

/// Converts CIE L*a*b* with the white point D50 to sRGB with Little CMS, on the decoding thread.
///
/// `@unchecked`: several threads may use the transform at a time, because it has no cache (cmsFLAGS_NOCACHE in lcms2.h).
final class LabConversion: @unchecked Sendable {
    /// The only conversion; `nil` if out of memory.
    static let shared = LabConversion()

    private let transform: cmsHTRANSFORM

    private init?() {
        guard let source = cmsCreateLab4Profile(nil) else { return nil }
        defer { cmsCloseProfile(source) }
        guard let target = cmsCreate_sRGBProfile() else { return nil }
        defer { cmsCloseProfile(target) }
        let intent = UInt32(INTENT_RELATIVE_COLORIMETRIC)
        guard
            let transform = cmsCreateTransform(source, LCMS.lab8, target, LCMS.rgb8, intent, UInt32(LCMS.noCache))
        else { return nil }
        self.transform = transform
    }

    deinit {
        cmsDeleteTransform(transform)
    }

    /// - Parameters:
    ///   - lab: Three bytes a pixel: L* scaled from 100 to 255, then a* and b*, each plus 128.
    ///   - colors: Three bytes a pixel.
    func convert(_ lab: [UInt8], into colors: inout [UInt8], count: Int) {
        cmsDoTransform(transform, lab, &colors, UInt32(clamping: count))
    }
}
