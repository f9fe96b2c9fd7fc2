internal import CWebImageLCMS
import FoundationEssentials
import WebImageCore

/// Converts CMYK pixels to sRGB by the ICC profile of their file, with Little CMS on the decoding thread. Without a profile,
/// decoders multiply the inks.
///
/// `@unchecked`: several threads may use the transform at a time, because it has no cache (cmsFLAGS_NOCACHE in lcms2.h).
final class InkConversion: @unchecked Sendable {
    private static let recent = RecentProfiles<InkConversion>()

    private let transform: cmsHTRANSFORM

    private init(_ transform: cmsHTRANSFORM) {
        self.transform = transform
    }

    deinit {
        cmsDeleteTransform(transform)
    }

    /// - Returns: `nil` if the profile is not CMYK, or the options disable color conversion.
    static func from(_ profile: Data?, _ options: DecodeOptions) -> InkConversion? {
        guard options.convertsToSRGB else { return nil }
        return recent.conversion(of: profile, make)
    }

    private static func make(_ data: Data) -> InkConversion? {
        let opened = data.withUnsafeBytes { cmsOpenProfileFromMem($0.baseAddress, UInt32($0.count)) }
        guard let opened else { return nil }
        defer { cmsCloseProfile(opened) }
        guard cmsGetColorSpace(opened) == cmsSigCmykData, let target = cmsCreate_sRGBProfile() else { return nil }
        defer { cmsCloseProfile(target) }
        // Browsers use the perceptual intent. Most printing inks are outside sRGB or well inside.
        return cmsCreateTransform(
            opened,
            LCMS.cmyk8,
            target,
            LCMS.rgb8,
            UInt32(INTENT_PERCEPTUAL),
            UInt32(LCMS.noCache)
        ).map(InkConversion.init)
    }

    /// - Parameters:
    ///   - inks: Four bytes a pixel: cyan, magenta, yellow, black; 255 is full ink.
    ///   - colors: Three bytes a pixel.
    func convert(_ inks: UnsafePointer<UInt8>, into colors: UnsafeMutablePointer<UInt8>, count: Int) {
        cmsDoTransform(transform, inks, colors, UInt32(clamping: count))
    }
}
