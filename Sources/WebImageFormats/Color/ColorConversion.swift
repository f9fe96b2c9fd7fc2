internal import CWebImageLCMS
import FoundationEssentials
import Glibc
import WebImageCore

/// Converts pixels from the color space of an ICC profile with Little CMS, on the decoding thread: to sRGB, or to Display P3
/// when the profile holds colors outside sRGB and these are kept. GTK takes pixels for sRGB before 4.16.
final class ColorConversion: Sendable {
    /// A transform of Little CMS.
    ///
    /// @unchecked: several threads can use it at a time, because it has no cache (cmsFLAGS_NOCACHE in lcms2.h).
    private struct Transform: @unchecked Sendable {
        let pointer: cmsHTRANSFORM
    }

    /// The conversions to sRGB alone, and those that keep wide colors. A profile has none when it changes nothing, or is
    /// one of inks.
    private static let toSRGB = RecentProfiles<ColorConversion>()
    private static let toWideColors = RecentProfiles<ColorConversion>()

    /// The transforms of 8 bits, and of 16 when colors may be wide.
    private let opaque: [Transform]
    private let withAlpha: [Transform]
    private let gamut: PixelBuffer.Colors.Gamut
    /// Whether any color changes. Most profiles are variants of sRGB, and of those of phones most are Display P3.
    private let changesColors: Bool

    private init(
        opaque: [Transform],
        withAlpha: [Transform],
        gamut: PixelBuffer.Colors.Gamut
    ) {
        self.opaque = opaque
        self.withAlpha = withAlpha
        self.gamut = gamut
        changesColors = Self.changesColors(opaque[0])
    }

    deinit {
        for transform in opaque + withAlpha { cmsDeleteTransform(transform.pointer) }
    }

    /// - Returns: `nil` when there is nothing to convert.
    static func from(_ profile: Data?, keepsWideColors: Bool) -> ColorConversion? {
        func make(_ profile: Data) -> ColorConversion? {
            self.make(profile, keepsWideColors).flatMap { $0.changesColors || $0.gamut != .sRGB ? $0 : nil }
        }
        return keepsWideColors
            ? toWideColors.conversion(of: profile, make) : toSRGB.conversion(of: profile, make)
    }

    /// Converts pixels that nothing else has seen yet, in their own memory.
    func convertInPlace(_ pixels: PixelBuffer) -> PixelBuffer {
        if changesColors { pixels.update { convert($0, hasAlpha: pixels.hasAlpha, isDeep: pixels.colors.isDeep) } }
        return pixels.tagged(gamut)
    }

    /// Converts a copy of pixels.
    /// - Returns: `nil` when there is no memory.
    func converted(_ pixels: PixelBuffer) -> PixelBuffer? {
        guard changesColors else { return pixels.tagged(gamut) }
        let colors = PixelBuffer.Colors(gamut: gamut, isDeep: pixels.colors.isDeep)
        return PixelBuffer(size: pixels.size, format: pixels.format, colors: colors) { memory in
            pixels.withUnsafeBytes { memory.copyMemory(from: $0) }
            convert(memory, hasAlpha: pixels.hasAlpha, isDeep: colors.isDeep)
        }
    }

    /// Converts some pixels after the others, so that each strip stays in the cache of the processor.
    private func convert(_ memory: UnsafeMutableRawBufferPointer, hasAlpha: Bool, isDeep: Bool) {
        let transform = (hasAlpha ? withAlpha : opaque)[isDeep ? 1 : 0].pointer
        let bytesPerPixel = (hasAlpha ? 4 : 3) * (isDeep ? 2 : 1)
        let step = 4096 * bytesPerPixel
        for start in stride(from: 0, to: memory.count, by: step) {
            let strip = UnsafeMutableRawBufferPointer(rebasing: memory[start..<min(start + step, memory.count)])
            let count = UInt32(strip.count / bytesPerPixel)
            // The conversion is not linear, so it needs straight alpha.
            if hasAlpha { isDeep ? PixelBuffer.divideDeepAlpha(in: strip) : PixelBuffer.divideAlpha(in: strip) }
            // Little CMS reads a pixel before it writes it, and leaves alpha alone where both are the same.
            cmsDoTransform(transform, strip.baseAddress, strip.baseAddress, count)
            if hasAlpha { isDeep ? PixelBuffer.multiplyDeepAlpha(in: strip) : PixelBuffer.multiplyAlpha(in: strip) }
        }
    }

    private static func make(_ data: Data, _ keepsWideColors: Bool) -> ColorConversion? {
        let opened = data.withUnsafeBytes { cmsOpenProfileFromMem($0.baseAddress, UInt32($0.count)) }
        guard let opened else { return nil }
        defer { cmsCloseProfile(opened) }
        let grey = greyAsRGB(opened)
        defer { if let grey { cmsCloseProfile(grey) } }
        let profile = grey ?? opened
        guard cmsGetColorSpace(profile) == cmsSigRgbData else { return nil }
        let gamut: PixelBuffer.Colors.Gamut = keepsWideColors && isWide(profile) ? .displayP3 : .sRGB
        guard let target = gamut == .sRGB ? cmsCreate_sRGBProfile() : displayP3() else { return nil }
        defer { cmsCloseProfile(target) }
        func transforms(_ formats: [UInt32]) -> [Transform] {
            let flags = UInt32(LCMS.noCache | LCMS.copyAlpha)
            let intent = UInt32(INTENT_RELATIVE_COLORIMETRIC)
            return formats.prefix(keepsWideColors ? 2 : 1).compactMap { format in
                cmsCreateTransform(profile, format, target, format, intent, flags).map(Transform.init(pointer:))
            }
        }
        let (opaque, withAlpha) = (transforms([LCMS.rgb8, LCMS.rgb16]), transforms([LCMS.rgba8, LCMS.rgba16]))
        guard opaque.count == (keepsWideColors ? 2 : 1), withAlpha.count == opaque.count else {
            for transform in opaque + withAlpha { cmsDeleteTransform(transform.pointer) }
            return nil
        }
        return ColorConversion(opaque: opaque, withAlpha: withAlpha, gamut: gamut)
    }

    /// The profile of gray levels that decoders have written as red, green and blue.
    /// - Returns: `nil` for a profile of other colors.
    private static func greyAsRGB(_ profile: cmsHPROFILE) -> cmsHPROFILE? {
        guard cmsGetColorSpace(profile) == cmsSigGrayData, let curve = cmsReadTag(profile, cmsSigGrayTRCTag) else {
            return nil
        }
        // Any primaries do, since gray stays gray.
        return rgbProfile([0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06], OpaquePointer(curve))
    }

    /// Whether a profile holds colors that lie clearly outside sRGB.
    private static func isWide(_ profile: cmsHPROFILE) -> Bool {
        guard let sRGB = cmsCreate_sRGBProfile() else { return false }
        defer { cmsCloseProfile(sRGB) }
        // Transforms of floating point do not clip.
        let intent = UInt32(INTENT_RELATIVE_COLORIMETRIC)
        guard
            let transform = cmsCreateTransform(
                profile,
                LCMS.rgbFloat,
                sRGB,
                LCMS.rgbFloat,
                intent,
                UInt32(LCMS.noCache)
            )
        else { return false }
        defer { cmsDeleteTransform(transform) }
        let corners: [Float] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1]
        var converted = [Float](repeating: 0, count: corners.count)
        cmsDoTransform(transform, corners, &converted, UInt32(corners.count / 3))
        return converted.contains { $0 < -0.03 || $0 > 1.03 }
    }

    private static func displayP3() -> cmsHPROFILE? {
        // SMPTE EG 432-1, and the transfer function of IEC 61966-2-1.
        rgbProfile([0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060], curve: sRGBCurve)
    }

    /// The transfer function of IEC 61966-2-1, as a parametric curve of lcms2.h, type 4.
    static let sRGBCurve = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]

    /// The bytes of an ICC profile.
    /// - Parameters:
    ///   - points: The chromaticities x and y of white, red, green and blue.
    ///   - curve: An exponent, or the parameters of a curve of type 4.
    /// - Returns: `nil` when there can be no such colors.
    static func profile(_ points: [Double], curve: [Double]) -> Data? {
        guard let profile = rgbProfile(points, curve: curve) else { return nil }
        defer { cmsCloseProfile(profile) }
        var count: UInt32 = 0
        guard cmsSaveProfileToMem(profile, nil, &count) != 0 else { return nil }
        var data = Data(count: Int(count))
        let isSaved = data.withUnsafeMutableBytes { cmsSaveProfileToMem(profile, $0.baseAddress, &count) } != 0
        guard isSaved else { return nil }
        // The time at which it was made (ICC.1, 7.2.8), so that equal profiles have equal bytes.
        data.resetBytes(in: 24..<36)
        return data
    }

    private static func rgbProfile(_ points: [Double], curve: [Double]) -> cmsHPROFILE? {
        guard let curve = cmsBuildParametricToneCurve(nil, curve.count == 1 ? 1 : 4, curve) else { return nil }
        defer { cmsFreeToneCurve(curve) }
        return rgbProfile(points, curve)
    }

    private static func rgbProfile(_ points: [Double], _ curve: OpaquePointer) -> cmsHPROFILE? {
        func point(_ index: Int) -> cmsCIExyY { cmsCIExyY(x: points[index], y: points[index + 1], Y: 1) }
        var white = point(0)
        var primaries = cmsCIExyYTRIPLE(Red: point(2), Green: point(4), Blue: point(6))
        let curves: [OpaquePointer?] = [curve, curve, curve]
        return curves.withUnsafeBufferPointer { cmsCreateRGBProfile(&white, &primaries, $0.baseAddress) }
    }

    private static func changesColors(_ transform: Transform) -> Bool {
        let levels: [UInt8] = [0, 32, 64, 128, 192, 255]
        let colors = levels.flatMap { red in levels.flatMap { green in levels.flatMap { [red, green, $0] } } }
        var converted = [UInt8](repeating: 0, count: colors.count)
        cmsDoTransform(transform.pointer, colors, &converted, UInt32(colors.count / 3))
        return zip(colors, converted).contains { abs(Int($0) - Int($1)) > 1 }
    }
}

/// Macros of lcms2.h that Swift cannot import.
enum LCMS {
    static let noCache = 0x0040
    static let copyAlpha = 0x0400_0000
    /// COLORSPACE_SH(PT_RGB) | CHANNELS_SH(3) | BYTES_SH(1)
    static let rgb8 = UInt32(4 << 16 | 3 << 3 | 1)
    /// The same with EXTRA_SH(1)
    static let rgba8 = UInt32(4 << 16 | 1 << 7 | 3 << 3 | 1)
    /// The first with BYTES_SH(2)
    static let rgb16 = UInt32(4 << 16 | 3 << 3 | 2)
    static let rgba16 = UInt32(4 << 16 | 1 << 7 | 3 << 3 | 2)
    /// TYPE_CMYK_8: COLORSPACE_SH(PT_CMYK) | CHANNELS_SH(4) | BYTES_SH(1)
    static let cmyk8 = UInt32(6 << 16 | 4 << 3 | 1)
    /// TYPE_Lab_8: COLORSPACE_SH(PT_Lab) | CHANNELS_SH(3) | BYTES_SH(1)
    static let lab8 = UInt32(10 << 16 | 3 << 3 | 1)
    /// TYPE_RGB_FLT: the first with FLOAT_SH(1) and BYTES_SH(4)
    static let rgbFloat = UInt32(1 << 22 | 4 << 16 | 3 << 3 | 4)
}

extension WebImage {
    /// The same image in sRGB, with all of its frames; a still image in Display P3 if it and the options are of wide colors.
    /// The pixels, which a decoder has just made, are converted in place.
    /// - Parameter profile: The profile of the file; `nil` changes nothing.
    func converted(from profile: Data?, _ options: DecodeOptions) -> WebImage {
        let keepsWideColors = options.keepsWideColors && animation == nil
        guard let conversion = ColorConversion.from(profile, keepsWideColors: keepsWideColors) else { return self }
        return with { content in
            content.pixels = conversion.convertInPlace(content.pixels)
            content.animation = animation?.mapFrames(keepsFile: true) { conversion.converted($0) }
        }
    }
}

/// Whether the toolkit of this process shows wide colors: GTK 4.16 and later, whose textures name their colors.
package enum WideColorDisplay {
    /// This target does not link GTK, and the headers of the build can be older than the GTK that is there.
    package static let isAvailable = dlsym(nil, "gdk_memory_texture_builder_set_color_state") != nil
}
