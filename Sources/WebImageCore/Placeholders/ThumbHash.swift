public import FoundationEssentials
import Glibc

/// A blurred image with aspect ratio and alpha in about twenty-five bytes, as a placeholder. The code keeps the names (l, p, q, a)
/// of the algorithm, https://evanw.github.io/thumbhash.
public struct ThumbHash: Hashable, Sendable {
    /// The bytes of the hash, for storing with the URL of the image.
    public let data: Data

    /// Parses a hash; `nil` if the bytes are not a hash.
    public init?(_ data: Data) {
        let data = Data(data)
        guard data.count >= 5, data.count <= 64 else { return nil }
        self.data = data
        guard data.count >= header.byteCount else { return nil }
    }

    /// Parses a hash in base64.
    public init?(base64: String) {
        guard let data = Data(base64Encoded: base64) else { return nil }
        self.init(data)
    }

    /// Makes the hash of an image, which takes some milliseconds.
    /// - Returns: `nil` if out of memory.
    public init?(of image: WebImage) {
        let size = DecodeSize.contain(PixelSize(width: 100, height: 100)).target(for: image.pixelSize)
        guard let small = image.pixels.resized(to: size, orientation: .up)?.converted(to: .rgbaPremultiplied) else {
            return nil
        }
        guard let data = small.withStraightAlpha({ Self.encode($0, size) }) else { return nil }
        self.data = data
    }

    /// The approximate width divided by the height.
    public var aspectRatio: Double { header.aspectRatio }

    /// Draws the blurred image, at most 32 pixels wide and high.
    /// - Returns: `nil` if out of memory.
    public var image: WebImage? {
        let header = header
        let ratio = aspectRatio
        let size = PixelSize(
            width: ratio > 1 ? 32 : max(1, Int((32 * ratio).rounded())),
            height: ratio > 1 ? max(1, Int((32 / ratio).rounded())) : 32
        )
        var index = 0
        func channel(_ x: Int, _ y: Int, scale: Double) -> [Double] {
            var factors: [Double] = []
            for row in 0..<y {
                var column = row > 0 ? 0 : 1
                while column * y < x * (y - row) {
                    let byte = data[header.start + index / 2]
                    factors.append((Double(byte >> UInt8(index % 2 * 4) & 15) / 7.5 - 1) * scale)
                    index += 1
                    column += 1
                }
            }
            return factors
        }
        let light = channel(header.x, header.y, scale: header.lightScale)
        let yellow = channel(3, 3, scale: header.yellowScale * 1.25)
        let red = channel(3, 3, scale: header.redScale * 1.25)
        let alpha = header.hasAlpha ? channel(5, 5, scale: header.alphaScale) : []
        let pixels = PixelBuffer(size: size, format: header.hasAlpha ? .rgbaPremultiplied : .rgb) { memory in
            var output = 0
            for y in 0..<size.height {
                for x in 0..<size.width {
                    func across(_ n: Int) -> Double { cos(.pi / Double(size.width) * (Double(x) + 0.5) * Double(n)) }
                    func down(_ n: Int) -> Double { cos(.pi / Double(size.height) * (Double(y) + 0.5) * Double(n)) }
                    func sum(_ start: Double, _ factors: [Double], width: Int, height: Int) -> Double {
                        var (sum, next) = (start, 0)
                        for row in 0..<height {
                            var column = row > 0 ? 0 : 1
                            let factor = down(row) * 2
                            while column * height < width * (height - row) {
                                sum += factors[next] * across(column) * factor
                                next += 1
                                column += 1
                            }
                        }
                        return sum
                    }
                    let l = sum(header.light, light, width: header.x, height: header.y)
                    let p = sum(header.yellow, yellow, width: 3, height: 3)
                    let q = sum(header.red, red, width: 3, height: 3)
                    let a = header.hasAlpha ? min(max(sum(header.alpha, alpha, width: 5, height: 5), 0), 1) : 1
                    let b = l - 2 / 3 * p
                    let r = (3 * l - b + q) / 2
                    for value in [r, r - q, b] {
                        memory[output] = UInt8(min(max(value, 0), 1) * a * 255)
                        output += 1
                    }
                    if header.hasAlpha {
                        memory[output] = UInt8(a * 255)
                        output += 1
                    }
                }
            }
        }
        return pixels.map { WebImage(pixels: $0) }
    }
}

extension ThumbHash {
    /// The values in the first bytes of a hash.
    private struct Header {
        let light: Double
        let yellow: Double
        let red: Double
        let lightScale: Double
        let yellowScale: Double
        let redScale: Double
        let alpha: Double
        let alphaScale: Double
        let hasAlpha: Bool
        /// The number of horizontal and vertical components of luminance.
        let x: Int
        let y: Int
        let aspectRatio: Double
        /// The position of the factors, four bits each.
        let start: Int
        let byteCount: Int

        init(_ data: Data) {
            let first = UInt32(data[0]) | UInt32(data[1]) << 8 | UInt32(data[2]) << 16
            let second = UInt32(data[3]) | UInt32(data[4]) << 8
            light = Double(first & 63) / 63
            yellow = Double(first >> 6 & 63) / 31.5 - 1
            red = Double(first >> 12 & 63) / 31.5 - 1
            lightScale = Double(first >> 18 & 31) / 31
            hasAlpha = first >> 23 != 0
            yellowScale = Double(second >> 3 & 63) / 63
            redScale = Double(second >> 9 & 63) / 63
            let isLandscape = second >> 15 != 0
            let most = hasAlpha ? 5 : 7
            // Narrow images store fewer components than are decoded; the stored number determines the aspect ratio.
            let fewest = max(1, Int(second & 7))
            aspectRatio = isLandscape ? Double(most) / Double(fewest) : Double(fewest) / Double(most)
            x = max(3, isLandscape ? most : fewest)
            y = max(3, isLandscape ? fewest : most)
            start = hasAlpha ? 6 : 5
            let byte = hasAlpha && data.count > 5 ? data[5] : 15
            alpha = Double(byte & 15) / 15
            alphaScale = Double(byte >> 4) / 15
            func count(_ x: Int, _ y: Int) -> Int {
                (0..<y).reduce(0) { sum, row in
                    let columns = (x * (y - row) + y - 1) / y
                    return sum + columns - (row == 0 ? 1 : 0)
                }
            }
            let factors = count(x, y) + 2 * count(3, 3) + (hasAlpha ? count(5, 5) : 0)
            byteCount = start + (factors + 1) / 2
        }
    }

    private var header: Header { Header(data) }

    private struct Channel {
        var constant: Double = 0
        var factors: [Double] = []
        var scale: Double = 0

        init(_ values: [Double], _ size: PixelSize, x: Int, y: Int) {
            for row in 0..<y {
                var column = 0
                while column * y < x * (y - row) {
                    var sum: Double = 0
                    let across = Self.wave(column, size.width)
                    let down = Self.wave(row, size.height)
                    for line in 0..<size.height {
                        for index in 0..<size.width {
                            sum += values[line * size.width + index] * across[index] * down[line]
                        }
                    }
                    sum /= Double(size.width * size.height)
                    if column == 0, row == 0 {
                        constant = sum
                    } else {
                        factors.append(sum)
                        scale = max(scale, abs(sum))
                    }
                    column += 1
                }
            }
            if scale > 0 { factors = factors.map { 0.5 + 0.5 / scale * $0 } }
        }

        /// A cosine wave, sampled at the centers of pixels.
        private static func wave(_ frequency: Int, _ count: Int) -> [Double] {
            let step = Double.pi / Double(count) * Double(frequency)
            return (0..<count).map { (index: Int) -> Double in cos(step * (Double(index) + 0.5)) }
        }
    }

    private static func encode(_ rgba: UnsafeBufferPointer<UInt8>, _ size: PixelSize) -> Data {
        let count = size.width * size.height
        var average = SIMD4<Double>.zero
        for index in 0..<count {
            let alpha = Double(rgba[index * 4 + 3]) / 255
            for channel in 0..<3 { average[channel] += alpha / 255 * Double(rgba[index * 4 + channel]) }
            average.w += alpha
        }
        if average.w > 0 {
            average = SIMD4(lowHalf: average.lowHalf / average.w, highHalf: [average.z / average.w, average.w])
        }
        let hasAlpha = average.w < Double(count)
        let limit = hasAlpha ? 5 : 7
        let longest = Double(max(size.width, size.height))
        let x = max(1, Int((Double(limit * size.width) / longest).rounded()))
        let y = max(1, Int((Double(limit * size.height) / longest).rounded()))
        var (l, p, q, a) = ([Double](), [Double](), [Double](), [Double]())
        for index in 0..<count {
            let alpha = Double(rgba[index * 4 + 3]) / 255
            func channel(_ number: Int) -> Double {
                average[number] * (1 - alpha) + alpha / 255 * Double(rgba[index * 4 + number])
            }
            let (r, g, b) = (channel(0), channel(1), channel(2))
            l.append((r + g + b) / 3)
            p.append((r + g) / 2 - b)
            q.append(r - g)
            a.append(alpha)
        }
        let light = Channel(l, size, x: max(3, x), y: max(3, y))
        let yellow = Channel(p, size, x: 3, y: 3)
        let red = Channel(q, size, x: 3, y: 3)
        let alpha = hasAlpha ? Channel(a, size, x: 5, y: 5) : nil
        let isLandscape = size.width > size.height
        func bits(_ value: Double, _ most: Double) -> UInt32 { UInt32((most * value).rounded()) }
        let first =
            bits(light.constant, 63) | bits(yellow.constant + 1, 31.5) << 6 | bits(red.constant + 1, 31.5) << 12
            | bits(light.scale, 31) << 18 | (hasAlpha ? 1 << 23 : 0)
        let second =
            UInt32(isLandscape ? y : x) | bits(yellow.scale, 63) << 3 | bits(red.scale, 63) << 9
            | (isLandscape ? 1 << 15 : 0)
        var data = Data([
            UInt8(first & 255), UInt8(first >> 8 & 255), UInt8(first >> 16), UInt8(second & 255), UInt8(second >> 8),
        ])
        if let alpha { data.append(UInt8(bits(alpha.constant, 15) | bits(alpha.scale, 15) << 4)) }
        var isLow = true
        for channel in [light, yellow, red] + (alpha.map { [$0] } ?? []) {
            for factor in channel.factors {
                let digit = UInt8(min(max((15 * factor).rounded(), 0), 15))
                if isLow { data.append(digit) } else { data[data.count - 1] |= digit << 4 }
                isLow.toggle()
            }
        }
        return data
    }
}
