import Foundation

/// A chart of costs per item in proportion to those of the smallest amount.
struct ScaleChart {
    struct Series {
        var name: String
        var points: [(amount: Int, microseconds: Double)] = []
    }

    private static let (left, top, width, height) = (56.0, 24.0, 420.0, 220.0)
    private static let colors = ["#1c71d8", "#26a269", "#e66100"]
    private let series: [Series]
    private let exponents: ClosedRange<Double>
    private let highest: Double

    init(_ series: [Series]) {
        self.series = series
        let logarithms = series.flatMap(\.points).map { log10(Double($0.amount)) }
        exponents = (logarithms.min() ?? 0)...max(logarithms.max() ?? 1, (logarithms.min() ?? 0) + 1)
        highest = series.flatMap(Self.ratios).map(\.ratio).reduce(2) { max($0, $1.rounded(.up)) }
    }

    private static func ratios(_ series: Series) -> [(amount: Int, ratio: Double)] {
        guard let first = series.points.first else { return [] }
        return series.points.map { ($0.amount, $0.microseconds / first.microseconds) }
    }

    /// The chart as an SVG file, whose colours suit a light and a dark page.
    var text: String {
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 500 320\" font-family=\"sans-serif\" font-size=\"12\">",
            "<title>Cost per item in proportion to that of the smallest amount</title>",
        ]
        for ratio in stride(from: 0.0, through: highest, by: 0.5) {
            lines.append(line(from: (Self.left, y(ratio)), to: (Self.left + Self.width, y(ratio))))
            lines.append(label("\(ratio)", x: Self.left - 8, y: y(ratio) + 4, anchor: "end"))
        }
        for exponent in Int(exponents.lowerBound.rounded(.up))...Int(exponents.upperBound) {
            let amount = Int(pow(10, Double(exponent)))
            lines.append(label("\(amount)", x: x(amount), y: Self.top + Self.height + 18, anchor: "middle"))
        }
        for (index, series) in series.enumerated() {
            let color = Self.colors[index % Self.colors.count]
            let points = Self.ratios(series).map { "\(round(x($0.amount))),\(round(y($0.ratio)))" }
            lines.append(
                "<polyline fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\" points=\"\(points.joined(separator: " "))\"/>"
            )
            let bottom = Self.top + Self.height + 40 + Double(index) * 16
            lines.append("<rect x=\"\(Self.left)\" y=\"\(bottom - 9)\" width=\"10\" height=\"10\" fill=\"\(color)\"/>")
            lines.append(label(series.name, x: Self.left + 16, y: bottom, anchor: "start"))
        }
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }

    private func x(_ amount: Int) -> Double {
        let length = exponents.upperBound - exponents.lowerBound
        return Self.left + (log10(Double(amount)) - exponents.lowerBound) / length * Self.width
    }

    private func y(_ ratio: Double) -> Double { Self.top + (1 - ratio / highest) * Self.height }

    private func line(from start: (Double, Double), to end: (Double, Double)) -> String {
        "<path d=\"M\(start.0) \(start.1)L\(end.0) \(end.1)\" stroke=\"#888\" stroke-opacity=\"0.4\"/>"
    }

    private func label(_ text: String, x: Double, y: Double, anchor: String) -> String {
        "<text x=\"\(round(x))\" y=\"\(round(y))\" text-anchor=\"\(anchor)\" fill=\"#888\">\(text)</text>"
    }
}
