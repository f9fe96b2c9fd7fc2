/// The colors of a frame, grouped in cells of six bits a channel, each with the mean of its pixels.
struct ColorCells {
    private struct Cell {
        var count: Double
        /// The mean of each channel.
        var channels: SIMD4<Double>
    }

    /// A range of cells that get the same color.
    private struct Box {
        var range: Range<Int>
        /// The sums of squared distances from the mean, by channel.
        var variance: SIMD4<Double>
    }

    private var cells: [Cell]

    /// - Parameter pixels: The pixels. Transparent ones (0) are ignored.
    init(_ pixels: UnsafeBufferPointer<UInt32>) {
        // Each element has the sums of three channels and the number of pixels.
        var sums = [SIMD4<Double>](repeating: .zero, count: 1 << 18)
        sums.withUnsafeMutableBufferPointer { sums in
            for pixel in pixels where pixel != 0 {
                let (red, green, blue) = (pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255)
                let key = Int(red >> 2 | (green >> 2) << 6 | (blue >> 2) << 12)
                sums[key] += SIMD4(Double(red), Double(green), Double(blue), 1)
            }
        }
        cells = sums.compactMap { sum in
            guard sum[3] > 0 else { return nil }
            var mean = sum / sum[3]
            mean[3] = 0
            return Cell(count: sum[3], channels: mean)
        }
    }

    /// The best colors for the pixels.
    mutating func palette(limit: Int) -> [UInt32] {
        var boxes = [box(0..<cells.count)]
        while boxes.count < limit {
            guard let largest = boxes.indices.max(by: { boxes[$0].variance.sum() < boxes[$1].variance.sum() }),
                let halves = split(boxes[largest])
            else { break }
            boxes[largest] = halves.0
            boxes.append(halves.1)
        }
        var means = boxes.map { mean($0.range) }
        // Further rounds hardly change the result.
        for _ in 0..<3 { means = moved(means) }
        return means.map { mean in
            let rounded = mean.rounded(.toNearestOrAwayFromZero)
            return UInt32(rounded[0]) | UInt32(rounded[1]) << 8 | UInt32(rounded[2]) << 16
        }
    }

    private func mean(_ range: Range<Int>) -> SIMD4<Double> {
        var (sum, count) = (SIMD4<Double>.zero, 0.0)
        for cell in cells[range] {
            sum += cell.channels * cell.count
            count += cell.count
        }
        return count > 0 ? sum / count : sum
    }

    private func box(_ range: Range<Int>) -> Box {
        let mean = mean(range)
        var variance = SIMD4<Double>.zero
        for cell in cells[range] {
            let distance = cell.channels - mean
            variance += distance * distance * cell.count
        }
        return Box(range: range, variance: variance)
    }

    /// Splits a box across its longest axis, where the total variance of both parts is lowest.
    private mutating func split(_ box: Box) -> (Box, Box)? {
        guard box.range.count > 1, box.variance.max() > 0 else { return nil }
        let axis = (0..<3).max { box.variance[$0] < box.variance[$1] }!
        cells[box.range].sort { $0.channels[axis] < $1.channels[axis] }
        // The comparison uses only the term of the variance that depends on the cut: the squared sum divided by the count.
        var (total, count) = (SIMD4<Double>.zero, 0.0)
        for cell in cells[box.range] {
            total += cell.channels * cell.count
            count += cell.count
        }
        var (left, leftCount, best, cut) = (SIMD4<Double>.zero, 0.0, -1.0, box.range.lowerBound + 1)
        for index in box.range.dropLast() {
            left += cells[index].channels * cells[index].count
            leftCount += cells[index].count
            let right = total - left
            let gain = (left * left).sum() / leftCount + (right * right).sum() / max(count - leftCount, 1)
            if gain > best { (best, cut) = (gain, index + 1) }
        }
        return (self.box(box.range.lowerBound..<cut), self.box(cut..<box.range.upperBound))
    }

    /// Moves each color to the mean of its nearest cells.
    private func moved(_ means: [SIMD4<Double>]) -> [SIMD4<Double>] {
        var sums = [SIMD4<Double>](repeating: .zero, count: means.count)
        var counts = [Double](repeating: 0, count: means.count)
        for cell in cells {
            var (best, least) = (0, Double.infinity)
            for index in means.indices {
                let distance = cell.channels - means[index]
                let square = (distance * distance).sum()
                if square < least { (best, least) = (index, square) }
            }
            sums[best] += cell.channels * cell.count
            counts[best] += cell.count
        }
        return means.indices.map { counts[$0] > 0 ? sums[$0] / counts[$0] : means[$0] }
    }
}
