internal import CWebImageGtk4
import Synchronization
import WebImageCore
import WebImageLinux

/// A GdkTexture over the pixels of an image: no copy is made, the texture keeps the pixels alive.
///
/// @unchecked: GdkTexture is immutable and documented as thread-safe (gdktexture.c).
final class Texture: @unchecked Sendable {
    let pointer: OpaquePointer
    private let isDrawn = Atomic(false)

    /// On any thread, with no display open.
    init(_ pixels: PixelBuffer) {
        let keeper = Unmanaged.passRetained(pixels).toOpaque()
        let bytes = g_bytes_new_with_free_func(
            pixels.baseAddress,
            gsize(pixels.byteCount),
            { Unmanaged<PixelBuffer>.fromOpaque($0!).release() },
            keeper
        )
        defer { g_bytes_unref(bytes) }
        pointer = gdk_memory_texture_new(
            Int32(pixels.size.width),
            Int32(pixels.size.height),
            Self.format(of: pixels),
            bytes,
            gsize(pixels.bytesPerRow)
        )
    }

    deinit {
        // A renderer that drew it has hung data on it, whose destruction belongs on the main thread.
        let object = GObjectReference(pointer)
        if isDrawn.load(ordering: .acquiring) { object.releaseOnMainThread() } else { object.release() }
    }

    /// Says that a renderer is about to see it.
    func markDrawn() {
        isDrawn.store(true, ordering: .releasing)
    }

    /// The formats that the GL renderer uploads as they are.
    private static func format(of pixels: PixelBuffer) -> GdkMemoryFormat {
        switch pixels.format {
        case .rgb: GDK_MEMORY_R8G8B8
        case .rgbaPremultiplied: GDK_MEMORY_R8G8B8A8_PREMULTIPLIED
        }
    }
}

extension WebImage {
    /// The texture of this image, made at most once. From any thread.
    var texture: Texture { display { Texture($0) } }
}

/// Makes the texture on the decode queue.
struct TexturePreparation: DisplayPreparation {
    func prepare(_ image: WebImage) {
        _ = image.texture
    }
}
