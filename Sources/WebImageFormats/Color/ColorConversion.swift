internal import CWebImageLCMS
package import FoundationEssentials
import Glibc
package import WebImageCore

/// Converts pixels from an ICC profile with Little CMS on the decoding thread: to sRGB, or to Display P3 if the profile has colors
/// outside sRGB and the options keep them. Before 4.16, GTK assumes sRGB.
package final class ColorConversion: Sendable {
    /// A transform of Little CMS.
    ///
    /// `@unchecked`: several threads may use it at a time, because it has no cache (cmsFLAGS_NOCACHE in lcms2.h).
    private struct Transform: @unchecked Sendable {
        let pointer: cmsHTRANSFORM
    }

    /// The recent conversions to sRGB only, and those that keep wide colors. A profile that changes nothing, or a profile of inks,
    /// has no conversion.
    private static let toSRGB = RecentProfiles<ColorConversion>()
    private static let toWideColors = RecentProfiles<ColorConversion>()

    /// The transforms for 8 bits and, if colors may be wide, 16 bits.
    private let opaque: [Transform]
    private let withAlpha: [Transform]
    private let gamut: PixelBuffer.Colors.Gamut
    /// Whether any color changes. Most profiles are variants of sRGB, and most phones use Display P3.
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

    /// - Returns: `nil` if no conversion is needed.
    static func from(_ profile: Data?, keepsWideColors: Bool) -> ColorConversion? {
        func make(_ profile: Data) -> ColorConversion? {
            self.make(profile, keepsWideColors).flatMap { $0.changesColors || $0.gamut != .sRGB ? $0 : nil }
        }
        return keepsWideColors
            ? toWideColors.conversion(of: profile, make) : toSRGB.conversion(of: profile, make)
    }

    /// Converts pixels that are not shared yet, in place.
    func convertInPlace(_ pixels: PixelBuffer) -> PixelBuffer {
        if changesColors { pixels.update { convert($0, hasAlpha: pixels.hasAlpha, isDeep: pixels.colors.isDeep) } }
        return pixels.tagged(gamut)
    }

    /// Converts a copy of the pixels; `nil` if out of memory.
    func converted(_ pixels: PixelBuffer) -> PixelBuffer? {
        guard changesColors else { return pixels.tagged(gamut) }
        let colors = PixelBuffer.Colors(gamut: gamut, isDeep: pixels.colors.isDeep)
        return PixelBuffer(size: pixels.size, format: pixels.format, colors: colors) { memory in
            pixels.withUnsafeBytes { memory.copyMemory(from: $0) }
            convert(memory, hasAlpha: pixels.hasAlpha, isDeep: colors.isDeep)
        }
    }

    /// Converts strips of pixels that fit in the processor's cache.
    private func convert(_ memory: UnsafeMutableRawBufferPointer, hasAlpha: Bool, isDeep: Bool) {
        let transform = (hasAlpha ? withAlpha : opaque)[isDeep ? 1 : 0].pointer
        let bytesPerPixel = (hasAlpha ? 4 : 3) * (isDeep ? 2 : 1)
        let step = 4096 * bytesPerPixel
        for start in stride(from: 0, to: memory.count, by: step) {
            let strip = UnsafeMutableRawBufferPointer(rebasing: memory[start..<min(start + step, memory.count)])
            let count = UInt32(strip.count / bytesPerPixel)
            // The conversion is not linear, so it requires straight alpha.
            if hasAlpha { isDeep ? PixelBuffer.divideDeepAlpha(in: strip) : PixelBuffer.divideAlpha(in: strip) }
            // Little CMS reads a pixel before it writes it, so both buffers may be the same; it then keeps alpha.
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

    /// An RGB profile for gray pixels that decoders have expanded to RGB; `nil` if the profile is not gray.
    private static func greyAsRGB(_ profile: cmsHPROFILE) -> cmsHPROFILE? {
        guard cmsGetColorSpace(profile) == cmsSigGrayData, let curve = cmsReadTag(profile, cmsSigGrayTRCTag) else {
            return nil
        }
        // Any primaries work, since gray stays gray.
        return rgbProfile([0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06], OpaquePointer(curve))
    }

    /// Whether a profile contains colors clearly outside sRGB.
    private static func isWide(_ profile: cmsHPROFILE) -> Bool {
        guard let sRGB = cmsCreate_sRGBProfile() else { return false }
        defer { cmsCloseProfile(sRGB) }
        // Floating-point transforms do not clip.
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
        // The primaries of SMPTE EG 432-1, and the transfer function of IEC 61966-2-1.
        rgbProfile([0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060], curve: sRGBCurve)
    }

    /// The transfer function of IEC 61966-2-1, as parameters of a type 4 curve in lcms2.h.
    static let sRGBCurve = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]

    /// Makes the bytes of an ICC profile.
    /// - Parameters:
    ///   - points: The chromaticities x and y of white, red, green and blue.
    ///   - curve: An exponent, or the parameters of a type 4 curve.
    /// - Returns: `nil` for invalid chromaticities.
    static func profile(_ points: [Double], curve: [Double]) -> Data? {
        guard let profile = rgbProfile(points, curve: curve) else { return nil }
        defer { cmsCloseProfile(profile) }
        var count: UInt32 = 0
        guard cmsSaveProfileToMem(profile, nil, &count) != 0 else { return nil }
        var data = Data(count: Int(count))
        let isSaved = data.withUnsafeMutableBytes { cmsSaveProfileToMem(profile, $0.baseAddress, &count) } != 0
        guard isSaved else { return nil }
        // Clears the creation time (ICC.1, 7.2.8), so that equal profiles have equal bytes.
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
    /// `rgb8` with EXTRA_SH(1).
    static let rgba8 = UInt32(4 << 16 | 1 << 7 | 3 << 3 | 1)
    /// `rgb8` with BYTES_SH(2).
    static let rgb16 = UInt32(4 << 16 | 3 << 3 | 2)
    static let rgba16 = UInt32(4 << 16 | 1 << 7 | 3 << 3 | 2)
    /// TYPE_CMYK_8: COLORSPACE_SH(PT_CMYK) | CHANNELS_SH(4) | BYTES_SH(1)
    static let cmyk8 = UInt32(6 << 16 | 4 << 3 | 1)
    /// TYPE_Lab_8: COLORSPACE_SH(PT_Lab) | CHANNELS_SH(3) | BYTES_SH(1)
    static let lab8 = UInt32(10 << 16 | 3 << 3 | 1)
    /// TYPE_RGB_FLT: `rgb8` with FLOAT_SH(1) and BYTES_SH(4).
    static let rgbFloat = UInt32(1 << 22 | 4 << 16 | 3 << 3 | 4)
}

extension WebImage {
    /// The same image in sRGB, with all its frames; a still image in Display P3 if its profile and the options have wide colors.
    /// The pixels must not be shared yet, because they are converted in place.
    /// - Parameter profile: The profile of the file; `nil` changes nothing.
    package func converted(from profile: Data?, _ options: DecodeOptions) -> WebImage {
        let keepsWideColors = options.keepsWideColors && animation == nil
        guard let conversion = ColorConversion.from(profile, keepsWideColors: keepsWideColors) else { return self }
        return with { content in
            content.pixels = conversion.convertInPlace(content.pixels)
            content.animation = animation?.mapFrames(keepsFile: true) { conversion.converted($0) }
        }
    }
}

/// Whether GTK shows wide colors in this process: since 4.16, textures have a color state.
package enum WideColorDisplay {
    /// This target does not link GTK, and GTK may be newer than the headers of the build.
    package static let isAvailable = dlsym(nil, "gdk_memory_texture_builder_set_color_state") != nil
}
