import Synchronization
import TestSupport
import Testing
import WebImageCore

@Suite("Composing frames")
struct FrameComposerTests {
    /// Frames of one colour each, drawn on demand.
    private final class ColorFrames: FrameSource {
        let colors: [UInt32]
        let layouts: [FrameLayout]
        private let log = Mutex<[Int]>([])

        init(_ colors: [UInt32], _ layouts: [FrameLayout]) {
            self.colors = colors
            self.layouts = layouts
        }

        var drawn: [Int] { log.withLock { $0 } }

        func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
            log.withLock { $0.append(index) }
            guard colors[index] != 0xBAD else { throw DecodeOptions().badData("Frame \(index) is damaged") }
            let rect = layouts[index].rect
            let pixels = [UInt32](repeating: colors[index], count: rect.size.width * rect.size.height)
            if layouts[index].isBlended {
                canvas.blend(pixels, rect)
            } else {
                for y in 0..<rect.size.height { canvas.row(y, of: rect).update(from: pixels, count: rect.size.width) }
            }
        }
    }

    private static let canvas = PixelSize(width: 4, height: 1)
    private let red: UInt32 = 0xFF00_00FF
    private let green: UInt32 = 0xFF00_FF00
    private let blue: UInt32 = 0xFFFF_0000

    private func layout(
        _ x: Int,
        _ width: Int,
        _ disposal: FrameLayout.Disposal = .keep,
        isBlended: Bool = true,
        hasAlpha: Bool = true
    ) -> FrameLayout {
        FrameLayout(
            rect: PixelRect(x: x, y: 0, width: width, height: 1),
            duration: .milliseconds(50),
            disposal: disposal,
            isBlended: isBlended,
            hasAlpha: hasAlpha
        )
    }

    private func composer(_ source: ColorFrames) -> FrameComposer {
        FrameComposer(
            source,
            source.layouts,
            size: Self.canvas,
            target: Self.canvas,
            orientation: .up,
            options: DecodeOptions()
        )
    }

    private func pixels(_ buffer: PixelBuffer) -> [UInt32] {
        buffer.withUnsafeBytes { bytes in
            guard !buffer.hasAlpha else { return Array(bytes.bindMemory(to: UInt32.self)) }
            return stride(from: 0, to: bytes.count, by: 3).map {
                UInt32(bytes[$0]) | UInt32(bytes[$0 + 1]) << 8 | UInt32(bytes[$0 + 2]) << 16 | 0xFF00_0000
            }
        }
    }

    @Test("Each frame stays, is cleared or restores the previous canvas, as its disposal says")
    func disposals() throws {
        let source = ColorFrames(
            [red, green, blue, green],
            [layout(0, 4), layout(1, 2, .restore), layout(0, 1, .clear), layout(3, 1)]
        )
        let composer = composer(source)
        #expect(pixels(try composer.frame(at: 0)) == [red, red, red, red])
        #expect(pixels(try composer.frame(at: 1)) == [red, green, green, red])
        #expect(pixels(try composer.frame(at: 2)) == [blue, red, red, red])
        #expect(pixels(try composer.frame(at: 3)) == [0, red, red, green])
        #expect(source.drawn == [0, 1, 2, 3])
    }

    @Test("Seeking back starts at the nearest independent frame, and the current frame is not decoded twice")
    func seeking() throws {
        let whole = layout(0, 4, hasAlpha: false)
        let source = ColorFrames(
            [red, green, blue, red, green],
            [whole, layout(0, 1), whole, layout(1, 1), layout(2, 1)]
        )
        let composer = composer(source)
        #expect(pixels(try composer.frame(at: 4)) == [blue, red, green, blue])
        #expect(source.drawn == [2, 3, 4])
        _ = try composer.frame(at: 4)
        #expect(pixels(try composer.frame(at: 1)) == [green, red, red, red])
        #expect(source.drawn == [2, 3, 4, 0, 1])
        _ = try composer.frame(at: 3)
        #expect(source.drawn == [2, 3, 4, 0, 1, 2, 3])
    }

    @Test("A covering frame that restores the previous canvas depends on it")
    func restoringWhole() throws {
        let source = ColorFrames(
            [red, green, blue],
            [layout(0, 4), layout(0, 4, .restore, hasAlpha: false), layout(0, 1)]
        )
        #expect(pixels(try composer(source).frame(at: 2)) == [blue, red, red, red])
    }

    @Test("A frame that follows a cleared covering frame is independent")
    func cleared() throws {
        let source = ColorFrames([red, green], [layout(0, 4, .clear), layout(1, 1)])
        let composer = composer(source)
        #expect(pixels(try composer.frame(at: 1)) == [0, green, 0, 0])
        #expect(source.drawn == [1])
    }

    @Test("Translucent pixels are blended with those below or replace them", arguments: [true, false])
    func blending(isBlended: Bool) throws {
        let half: UInt32 = 0x8000_0080
        let source = ColorFrames([red, half], [layout(0, 4), layout(0, 2, isBlended: isBlended)])
        let mixed: UInt32 = isBlended ? 0xFF00_00FF : half
        #expect(pixels(try composer(source).frame(at: 1)) == [mixed, mixed, red, red])
    }

    @Test("Blending is exact to the nearest level for every alpha")
    func rounding() throws {
        let canvas = try #require(FrameCanvas(size: PixelSize(width: 256, height: 1)))
        let rect = PixelRect(x: 0, y: 0, width: 256, height: 1)
        for under in [UInt32(0), 1, 77, 128, 254, 255] {
            for x in 0..<256 { canvas.pixels[x] = under | under << 8 | under << 16 | 0xFF00_0000 }
            canvas.blend((0..<256).map { UInt32($0) << 24 }, rect)
            for alpha in 0..<256 {
                let expected = UInt32((Double(under) * Double(255 - alpha) / 255).rounded())
                #expect(canvas.pixels[alpha] & 0xFF == expected && canvas.pixels[alpha] >> 24 == 255)
            }
        }
    }

    @Test("A damaged frame is an error and leaves the others intact")
    func damage() throws {
        let source = ColorFrames([red, 0xBAD, blue], [layout(0, 4), layout(0, 1), layout(0, 4, hasAlpha: false)])
        let composer = composer(source)
        #expect(throws: ImageError.self) { try composer.frame(at: 1) }
        #expect(pixels(try composer.frame(at: 0)) == [red, red, red, red])
        #expect(pixels(try composer.frame(at: 2)) == [blue, blue, blue, blue])
        #expect(throws: ImageError.self) { try composer.frame(at: 3) }
        #expect(throws: ImageError.self) { try composer.frame(at: -1) }
    }

    @Test("Frames need alpha only where they leave the canvas uncovered")
    func alpha() {
        let opaque = layout(0, 4, hasAlpha: false)
        #expect(![opaque, layout(1, 1)].hasTransparency(on: Self.canvas))
        #expect([layout(0, 3, hasAlpha: false)].hasTransparency(on: Self.canvas))
        #expect([opaque, layout(1, 1, .clear)].hasTransparency(on: Self.canvas))
        #expect([opaque, layout(1, 1, isBlended: false)].hasTransparency(on: Self.canvas))
        #expect([layout(0, 4)].hasTransparency(on: Self.canvas))
    }
}
