internal import CWebImageGtk4
internal import CWebImageGtkShims
package import WebImageCore
import WebImageLinux

/// A GdkTexture that shares the pixels of an image and keeps them alive.
///
/// GdkTexture is immutable and documented as thread-safe (gdktexture.c).
package final class Texture: Sendable {
    private let object: GObjectBox

    /// Creates a texture on any thread, even without an open display. Colors in a gamut that GTK cannot name are converted to sRGB.
    package init(_ pixels: PixelBuffer) {
        let isWide = pixels.colors.gamut == .displayP3 && gwi_texture_has_display_p3() != 0
        let pixels = pixels.colors.gamut == .sRGB || isWide ? pixels : pixels.standard() ?? pixels
        let owner = Unmanaged.passRetained(pixels).toOpaque()
        let bytes = g_bytes_new_with_free_func(
            pixels.baseAddress,
            gsize(pixels.byteCount),
            { Unmanaged<PixelBuffer>.fromOpaque($0!).release() },
            owner
        )
        defer { g_bytes_unref(bytes) }
        let texture = gwi_texture_new(
            bytes,
            Int32(pixels.size.width),
            Int32(pixels.size.height),
            Self.format(of: pixels),
            isWide ? 1 : 0
        )!
        object = GObjectBox(adopting: UnsafeMutableRawPointer(texture), releaseOn: .any)
    }

    /// The GdkTexture, to be drawn. A renderer attaches data to it, which must be destroyed on the main thread.
    package var pointer: OpaquePointer {
        object.requireMainThread()
        return object.opaquePointer
    }

    /// The formats that the GL renderer uploads without a conversion.
    private static func format(of pixels: PixelBuffer) -> GdkMemoryFormat {
        switch (pixels.format, pixels.colors.isDeep) {
        case (.rgb, false): GDK_MEMORY_R8G8B8
        case (.rgbaPremultiplied, false): GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
        case (.rgb, true): GDK_MEMORY_R16G16B16
        case (.rgbaPremultiplied, true): GDK_MEMORY_R16G16B16A16_PREMULTIPLIED
        }
    }
}

extension WebImage {
    /// The texture of this image, created at most once, on any thread.
    var texture: Texture { display { Texture($0) } }
}

/// Creates the texture of an image on the decode queue.
struct TexturePreparation: DisplayPreparation {
    func prepare(_ image: WebImage) {
        _ = image.texture
    }
}
