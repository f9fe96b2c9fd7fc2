import Foundation

/// The figures of several programs that load the same list in turn.
struct ScreenResults {
    static let ceiling = "the ceiling"
    static let ceilingInGTK = "the ceiling in GTK"
    static let pixbuf = "libsoup, gdk-pixbuf"
    static let (uncached, cold, warm) = ("library without a disk cache", "library, cold", "library, warm")

    /// What the pixels of all images take with four bytes each; zero where their size is that of the files.
    let pixelMegabytes: Double
    private var names: [String] = []
    private var figures: [String: [LoadFigures]] = [:]

    init(pixelMegabytes: Double) {
        self.pixelMegabytes = pixelMegabytes
    }

    mutating func add(_ name: String, _ new: LoadFigures) {
        if figures[name] == nil { names.append(name) }
        figures[name, default: []].append(new)
    }

    func has(_ name: String) -> Bool { figures[name] != nil }

    func median(_ name: String, _ figure: (LoadFigures) -> Double) -> Double {
        Rounds.median((figures[name] ?? []).map(figure))
    }

    /// The median of the ratios within each round.
    func ratio(_ name: String, _ figure: (LoadFigures) -> Double, to other: String = ceilingInGTK) -> Double {
        let pairs = zip(figures[name] ?? [], figures[other] ?? [])
        return Rounds.median(pairs.map { figure($0) / figure($1) })
    }

    /// A line for each program: wall time, CPU time and the time until the first 16 images in proportion to the ceiling in GTK, and
    /// seconds, milliseconds and megabytes.
    func table() -> String {
        let lines = names.map { name in
            let (wall, cpu) = (ratio(name, \.wall), ratio(name, \.cpu))
            let first = ratio(name, \.first)
            let own = median(name, \.ownTurn)
            return """
                \(name.padding(toLength: 30, withPad: " ", startingAt: 0)) wall \(Rounds.format(wall)) \
                (\(Rounds.format(median(name, \.wall))) s), CPU \(Rounds.format(cpu)) (\(Rounds.format(median(name, \.cpu))) s), \
                first 16 \(Rounds.format(first)) (\(Rounds.format(median(name, \.first))) s); \
                longest turn \(Rounds.format(median(name, \.turn))) ms\
                \(own > 0 ? " (own \(Rounds.format(own)) ms)" : ""); memory \(Int(median(name, \.memory))) MB, \
                \(Int(median(name, \.peakAboveStart))) at most
                """
        }
        return lines.joined(separator: "\n")
    }
}
