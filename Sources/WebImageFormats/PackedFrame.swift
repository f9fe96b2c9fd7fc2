import Glibc
import WebImageCore

/// A frame of an animation to encode, as packed pixels: red in the lowest byte, alpha in the highest.
///
/// The memory is from malloc, because a failed allocation must be an error and not a crash.
final class PackedFrame {
    let size: PixelSize
    private let memory: UnsafeMutableBufferPointer<UInt32>

    private init?(uninitialized size: PixelSize) {
        let count = size.pixelCount
        guard let start = malloc(count.boundedProduct(MemoryLayout<UInt32>.size)) else { return nil }
        self.size = size
        memory = UnsafeMutableBufferPointer(start: start.bindMemory(to: UInt32.self, capacity: count), count: count)
    }

    deinit {
        free(memory.baseAddress)
    }

    /// The pixels of a buffer, with premultiplied alpha; `nil` if out of memory.
    convenience init?(_ buffer: PixelBuffer) {
        precondition(buffer.colors == .standard, "Frames have four bytes a pixel")
        self.init(uninitialized: buffer.size)
        buffer.withUnsafeBytes { bytes in
            guard !buffer.hasAlpha else { return UnsafeMutableRawBufferPointer(memory).copyMemory(from: bytes) }
            var source = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
            for index in memory.indices {
                memory[index] = UInt32(source[0]) | UInt32(source[1]) << 8 | UInt32(source[2]) << 16 | 0xFF00_0000
                source += 3
            }
        }
    }

    /// A rectangle of a frame, transparent (0) where the pixels equal another frame's; `nil` if out of memory.
    convenience init?(_ frame: PackedFrame, in rect: PixelRect, since shown: PackedFrame?) {
        self.init(uninitialized: rect.size)
        frame.withPixels { pixels in
            var target = 0
            for y in rect.y..<rect.y + rect.size.height {
                let start = y * frame.size.width + rect.x
                for index in start..<start + rect.size.width {
                    memory[target] = pixels[index] == shown?.memory[index] ? 0 : pixels[index]
                    target += 1
                }
            }
        }
    }

    /// Calls body with the pixels, which are valid during the call.
    func withPixels<R>(_ body: (UnsafeBufferPointer<UInt32>) -> R) -> R {
        withExtendedLifetime(self) { body(UnsafeBufferPointer(memory)) }
    }

    /// Makes pixels opaque if they are at least half opaque, and otherwise transparent (0).
    func removeTranslucency() {
        for index in memory.indices {
            let pixel = memory[index]
            let alpha = pixel >> 24
            if alpha == 255 { continue }
            guard alpha >= 128 else {
                memory[index] = 0
                continue
            }
            var opaque: UInt32 = 0xFF00_0000
            for shift: UInt32 in [0, 8, 16] {
                opaque |= min(255, ((pixel >> shift & 255) * 255 + alpha / 2) / alpha) << shift
            }
            memory[index] = opaque
        }
    }

    /// Makes a rectangle transparent.
    func clear(_ rect: PixelRect) {
        for y in rect.y..<rect.y + rect.size.height {
            let start = y * size.width + rect.x
            for index in start..<start + rect.size.width { memory[index] = 0 }
        }
    }

    /// The smallest rectangle around the pixels that differ from another frame; `nil` if there are none.
    func changes(since other: PackedFrame) -> PixelRect? { box(other) { $0 != $1 } }

    /// The smallest rectangle around the pixels that are transparent only in this frame; `nil` if there are none.
    func gaps(since other: PackedFrame) -> PixelRect? { box(other) { $0 == 0 && $1 != 0 } }

    @inline(__always)
    private func box(_ other: PackedFrame, _ isInside: (UInt32, UInt32) -> Bool) -> PixelRect? {
        withPixels { pixels in
            other.withPixels { others in
                let (width, height) = (size.width, size.height)
                var (left, right, top, bottom) = (width, -1, -1, -1)
                for y in 0..<height {
                    let row = y * width
                    var x = 0
                    while x < width, !isInside(pixels[row + x], others[row + x]) { x += 1 }
                    guard x < width else { continue }
                    if top < 0 { top = y }
                    bottom = y
                    left = min(left, x)
                    var last = width - 1
                    while last > right, !isInside(pixels[row + last], others[row + last]) { last -= 1 }
                    right = max(right, last)
                }
                guard top >= 0 else { return nil }
                return PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
            }
        }
    }

    /// The pixels of a rectangle as a buffer; `nil` if out of memory.
    func buffer(_ rect: PixelRect, _ format: PixelBuffer.Format) -> PixelBuffer? {
        PixelBuffer(size: rect.size, format: format) { memory in
            withPixels { pixels in
                var target = 0
                for y in rect.y..<rect.y + rect.size.height {
                    for index in y * size.width + rect.x..<y * size.width + rect.x + rect.size.width {
                        let pixel = pixels[index]
                        memory[target] = UInt8(truncatingIfNeeded: pixel)
                        memory[target + 1] = UInt8(truncatingIfNeeded: pixel >> 8)
                        memory[target + 2] = UInt8(truncatingIfNeeded: pixel >> 16)
                        if format == .rgbaPremultiplied { memory[target + 3] = UInt8(truncatingIfNeeded: pixel >> 24) }
                        target += format.bytesPerPixel
                    }
                }
            }
        }
    }
}

extension PixelRect {
    /// The smallest rectangle around two rectangles.
    func union(_ other: PixelRect) -> PixelRect {
        let (left, top) = (min(x, other.x), min(y, other.y))
        return PixelRect(
            x: left,
            y: top,
            width: max(x + size.width, other.x + other.size.width) - left,
            height: max(y + size.height, other.y + other.size.height) - top
        )
    }
}

/// Iterates over the frames of an animation to encode.
struct WrittenFrames {
    private let animation: ImageAnimation
    private let decoder: any FrameDecoding
    private var index = 0

    init(_ animation: ImageAnimation) {
        self.animation = animation
        decoder = animation.makeDecoder()
    }

    /// The next frame and its duration; `nil` after the last. An animation ends before a damaged frame, or one that its transformer
    /// rejects.
    /// - Throws: The error of the first frame or of a lack of memory, and ``ImageError/Code/cancelled`` in a cancelled task.
    mutating func next() throws(ImageError) -> (pixels: PixelBuffer, duration: Duration)? {
        guard index < animation.frameCount else { return nil }
        guard !Task.isCancelled else { throw .cancelled(nil) }
        do throws(ImageError) {
            let pixels = try decoder.frame(at: index)
            guard let pixels = pixels.resized(to: animation.size, orientation: .up) else {
                throw ImageError.noMemory(toEncode: "frames of \(animation.size) pixels")
            }
            defer { index += 1 }
            return (pixels, animation.durations[index])
        } catch {
            guard index > 0, error.code == .badImageData || error.code == .transformFailed else { throw error }
            index = animation.frameCount
            return nil
        }
    }
}
