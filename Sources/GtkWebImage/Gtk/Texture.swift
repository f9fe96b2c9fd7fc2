internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// A GdkTexture that shares the pixels of an image and keeps them alive.
///
/// GdkTexture is immutable and documented as thread-safe (gdktexture.c).
final class Texture: Sendable {
    private let object: GObjectBox

    /// Works on any thread, with no display open.
    init(_ pixels: PixelBuffer) {
        let owner = Unmanaged.passRetained(pixels).toOpaque()
        let bytes = g_bytes_new_with_free_func(
            pixels.baseAddress,
            gsize(pixels.byteCount),
            { Unmanaged<PixelBuffer>.fromOpaque($0!).release() },
            owner
        )
        defer { g_bytes_unref(bytes) }
        let texture = gdk_memory_texture_new(
            Int32(pixels.size.width),
            Int32(pixels.size.height),
            Self.format(of: pixels),
            bytes,
            gsize(pixels.bytesPerRow)
        )!
        object = GObjectBox(adopting: UnsafeMutableRawPointer(texture), releaseOn: .any)
    }

    var pointer: OpaquePointer { object.opaquePointer }

    /// Marks the texture as drawn. A renderer attaches data to it, which must be destroyed on the main thread.
    func markDrawn() {
        object.requireMainThread()
    }

    /// The formats that the GL renderer uploads without a conversion.
    private static func format(of pixels: PixelBuffer) -> GdkMemoryFormat {
        switch pixels.format {
        case .rgb: GDK_MEMORY_R8G8B8
        case .rgbaPremultiplied: GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
        }
    }
}

extension WebImage {
    /// The texture of this image, made at most once, on any thread.
    var texture: Texture { display { Texture($0) } }
}

/// Makes the texture of an image on the decode queue.
struct TexturePreparation: DisplayPreparation {
    func prepare(_ image: WebImage) {
        _ = image.texture
    }
}
