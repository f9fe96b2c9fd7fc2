import Glibc

/// A blurred image in about thirty characters, as a placeholder. The code keeps the names of the algorithm,
/// https://github.com/woltapp/blurhash.
public struct BlurHash: Hashable, Sendable {
    /// The characters of the hash.
    public let string: String
    private let digits: [Int]

    /// The number of horizontal and vertical components, 1 to 9 each.
    package var components: (x: Int, y: Int) { (digits[0] % 9 + 1, digits[0] / 9 + 1) }

    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8
    )

    /// Parses a hash; `nil` if the characters are not a hash.
    public init?(_ string: String) {
        let digits = string.utf8.map { Self.alphabet.firstIndex(of: $0) ?? -1 }
        guard digits.count >= 6, !digits.contains(-1), digits[0] < 81 else { return nil }
        self.string = string
        self.digits = digits
        guard digits.count == 4 + 2 * components.x * components.y else { return nil }
    }

    /// Makes the hash of an image, which takes some milliseconds. Transparent pixels are black.
    /// - Parameters:
    ///   - image: The image. It is scaled down first.
    ///   - x: The number of horizontal components, 1 to 9.
    ///   - y: The number of vertical components, 1 to 9.
    public init?(of image: WebImage, x: Int = 4, y: Int = 3) {
        let size = DecodeSize.contain(PixelSize(width: 64, height: 64)).target(for: image.pixelSize)
        guard (1...9).contains(x), (1...9).contains(y),
            let pixels = image.pixels.resized(to: size, orientation: .up)?.converted(to: .rgb)
        else { return nil }
        var factors: [SIMD3<Float>] = []
        for row in 0..<y {
            for column in 0..<x { factors.append(pixels.wave(column, row) * (row + column == 0 ? 1 : 2)) }
        }
        let rest = factors.dropFirst()
        let largest = rest.map { max(abs($0.x), abs($0.y), abs($0.z)) }.max() ?? 0
        let quantised = min(max(Int((largest * 166 - 0.5).rounded(.down)), 0), 82)
        let limit = Float(quantised + 1) / 166
        func digit(_ value: Float) -> Int {
            let root = copysign(abs(value / limit).squareRoot(), value)
            return min(max(Int((root * 9 + 9.5).rounded(.down)), 0), 18)
        }
        let average = factors[0].encoded
        var text = Self.encode(x - 1 + (y - 1) * 9, 1) + Self.encode(rest.isEmpty ? 0 : quantised, 1)
        text += Self.encode(Int(average.x) << 16 | Int(average.y) << 8 | Int(average.z), 4)
        for factor in rest { text += Self.encode(digit(factor.x) * 361 + digit(factor.y) * 19 + digit(factor.z), 2) }
        self.init(text)
    }

    /// Draws the blurred image.
    /// - Parameters:
    ///   - size: The size in pixels. A blurred image needs no large size. Default: 32x32.
    ///   - punch: The contrast, relative to the original. Default: 1.
    /// - Returns: `nil` if out of memory, and for more than 134,217,728 pixels (2^27).
    public func image(size: PixelSize = PixelSize(width: 32, height: 32), punch: Double = 1) -> WebImage? {
        let limit = Float(digits[1] + 1) / 166 * Float(punch.bounded(to: -1_000_000...1_000_000, ifNaN: 1))
        guard size.isReachable(from: PixelSize(width: 1, height: 1)) else { return nil }
        var colors: [SIMD3<Float>] = []
        let average = number(2, 4)
        colors.append(SIMD3(linear: SIMD3(UInt8(average >> 16 & 255), UInt8(average >> 8 & 255), UInt8(average & 255))))
        for index in 1..<max(components.x * components.y, 1) {
            let value = number(4 + index * 2, 2)
            func part(_ digit: Int) -> Float {
                let share = Float(digit - 9) / 9
                return copysign(share * share, share) * limit
            }
            colors.append(SIMD3(part(value / 361), part(value / 19 % 19), part(value % 19)))
        }
        let (columns, rows) = (components.x, components.y)
        let pixels = PixelBuffer(size: size, format: .rgb) { memory in
            for y in 0..<size.height {
                let down = (0..<rows).map { cos(Float.pi * Float(y) * Float($0) / Float(size.height)) }
                for x in 0..<size.width {
                    var sum = SIMD3<Float>.zero
                    for column in 0..<columns {
                        let across = cos(Float.pi * Float(x) * Float(column) / Float(size.width))
                        for row in 0..<rows { sum += colors[row * columns + column] * (across * down[row]) }
                    }
                    let color = sum.encoded
                    let offset = (y * size.width + x) * 3
                    (memory[offset], memory[offset + 1], memory[offset + 2]) = (color.x, color.y, color.z)
                }
            }
        }
        return pixels.map { WebImage(pixels: $0) }
    }

    private func number(_ start: Int, _ count: Int) -> Int { digits[start..<start + count].reduce(0) { $0 * 83 + $1 } }

    private static func encode(_ number: Int, _ count: Int) -> String {
        var (number, digits) = (number, [UInt8]())
        for _ in 0..<count {
            digits.insert(alphabet[number % 83], at: 0)
            number /= 83
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

extension PixelBuffer {
    /// The factor of a component in linear light.
    fileprivate func wave(_ column: Int, _ row: Int) -> SIMD3<Float> {
        withUnsafeBytes { bytes in
            var sum = SIMD3<Float>.zero
            for y in 0..<size.height {
                let down = cos(Float.pi * Float(row) * Float(y) / Float(size.height))
                for x in 0..<size.width {
                    let basis = cos(Float.pi * Float(column) * Float(x) / Float(size.width)) * down
                    let offset = (y * size.width + x) * 3
                    sum += SIMD3(linear: SIMD3(bytes[offset], bytes[offset + 1], bytes[offset + 2])) * basis
                }
            }
            return sum / Float(size.width * size.height)
        }
    }
}

extension SIMD3<Float> {
    /// Converts sRGB to linear light.
    fileprivate init(linear bytes: SIMD3<UInt8>) {
        func linear(_ byte: UInt8) -> Float {
            let value = Float(byte) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        self.init(linear(bytes.x), linear(bytes.y), linear(bytes.z))
    }

    /// Converts linear light to sRGB.
    fileprivate var encoded: SIMD3<UInt8> {
        func encode(_ value: Float) -> UInt8 {
            let value = Swift.min(Swift.max(value, 0), 1)
            return UInt8((value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1 / 2.4) - 0.055) * 255 + 0.5)
        }
        return SIMD3<UInt8>(encode(x), encode(y), encode(z))
    }
}
