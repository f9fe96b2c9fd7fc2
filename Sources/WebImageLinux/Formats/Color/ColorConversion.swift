internal import CWebImageLCMS
import FoundationEssentials
import Synchronization
import WebImageCore

/// Converts pixels from the colour space of an ICC profile to sRGB with Little CMS, on the decoding thread. GTK 4.8
/// takes all pixels for sRGB.
final class ColorConversion: Sendable {
    /// A transform of Little CMS.
    ///
    /// @unchecked: several threads can use it at a time, because it has no cache (cmsFLAGS_NOCACHE in lcms2.h).
    private struct Transform: @unchecked Sendable {
        let pointer: cmsHTRANSFORM
    }

    private struct Known {
        /// An array, whose memory tools that look for leaks can follow; that of Data they cannot.
        let profile: [UInt8]
        /// `nil` for a profile that changes nothing, or is not one of red, green and blue.
        let conversion: ColorConversion?
    }

    /// The conversions of recent profiles: most images carry one of a few.
    private static let known = Mutex<[Known]>([])
    private static let knownLimit = 16
    /// The size in bytes up to which a profile is kept. Larger profiles are rare.
    private static let knownSizeLimit = 1 << 20

    private let opaque: Transform
    private let withAlpha: Transform

    private init(opaque: Transform, withAlpha: Transform) {
        self.opaque = opaque
        self.withAlpha = withAlpha
    }

    deinit {
        cmsDeleteTransform(opaque.pointer)
        cmsDeleteTransform(withAlpha.pointer)
    }

    /// - Returns: `nil` when there is nothing to convert.
    static func from(_ profile: Data?) -> ColorConversion? {
        guard let profile, profile.count >= 128 else { return nil }
        let bytes = [UInt8](profile)
        let found = known.withLock { known in known.first { $0.profile == bytes } }
        if let found { return found.conversion }
        let made = make(profile).flatMap { $0.changesAnything ? $0 : nil }
        guard profile.count <= knownSizeLimit else { return made }
        known.withLock { known in
            if known.count >= knownLimit { known.removeFirst() }
            known.append(Known(profile: bytes, conversion: made))
        }
        return made
    }

    /// - Returns: `nil` when there is no memory.
    func convert(_ pixels: PixelBuffer) -> PixelBuffer? {
        let count = UInt32(clamping: pixels.size.pixelCount)
        return PixelBuffer(size: pixels.size, format: pixels.format) { memory in
            if pixels.hasAlpha {
                // The conversion is not linear, so it needs straight alpha.
                pixels.withStraightAlpha { straight in
                    cmsDoTransform(withAlpha.pointer, straight.baseAddress, memory.baseAddress, count)
                }
                PixelBuffer.multiplyAlpha(in: memory)
            } else {
                cmsDoTransform(opaque.pointer, pixels.baseAddress, memory.baseAddress, count)
            }
        }
    }

    private static func make(_ data: Data) -> ColorConversion? {
        let opened = data.withUnsafeBytes { cmsOpenProfileFromMem($0.baseAddress, UInt32($0.count)) }
        guard let profile = opened, let sRGB = cmsCreate_sRGBProfile() else { return nil }
        defer {
            cmsCloseProfile(profile)
            cmsCloseProfile(sRGB)
        }
        // Decoders convert grey and CMYK images to RGB without a profile.
        guard cmsGetColorSpace(profile) == cmsSigRgbData else { return nil }
        func transform(_ format: UInt32) -> Transform? {
            let flags = UInt32(LCMS.noCache | LCMS.copyAlpha)
            let intent = UInt32(INTENT_RELATIVE_COLORIMETRIC)
            return cmsCreateTransform(profile, format, sRGB, format, intent, flags).map(Transform.init(pointer:))
        }
        guard let opaque = transform(LCMS.rgb8) else { return nil }
        guard let withAlpha = transform(LCMS.rgba8) else {
            cmsDeleteTransform(opaque.pointer)
            return nil
        }
        return ColorConversion(opaque: opaque, withAlpha: withAlpha)
    }

    /// Whether the conversion changes any colour. Most profiles are variants of sRGB.
    private var changesAnything: Bool {
        let levels: [UInt8] = [0, 32, 64, 128, 192, 255]
        let colors = levels.flatMap { red in levels.flatMap { green in levels.flatMap { [red, green, $0] } } }
        var converted = [UInt8](repeating: 0, count: colors.count)
        cmsDoTransform(opaque.pointer, colors, &converted, UInt32(colors.count / 3))
        return zip(colors, converted).contains { abs(Int($0) - Int($1)) > 1 }
    }
}

/// Macros of lcms2.h that Swift cannot import.
private enum LCMS {
    static let noCache = 0x0040
    static let copyAlpha = 0x0400_0000
    /// COLORSPACE_SH(PT_RGB) | CHANNELS_SH(3) | BYTES_SH(1)
    static let rgb8 = UInt32(4 << 16 | 3 << 3 | 1)
    /// The same with EXTRA_SH(1)
    static let rgba8 = UInt32(4 << 16 | 1 << 7 | 3 << 3 | 1)
}

extension WebImage {
    /// The same image in sRGB, with all of its frames.
    /// - Parameter profile: The profile of the file; `nil` changes nothing.
    func converted(from profile: Data?) -> WebImage {
        guard let conversion = ColorConversion.from(profile), let pixels = conversion.convert(pixels) else {
            return self
        }
        return with { content in
            content.pixels = pixels
            content.animation = animation?.mapFrames { conversion.convert($0) }
        }
    }
}
