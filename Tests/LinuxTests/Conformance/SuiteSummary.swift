/// Counts what became of the images of each format, for the table that the page on formats shows.
struct SuiteSummary {
    /// What becomes of a file in the library and in the other decoder.
    enum Outcome: String {
        case same
        case refusedByBoth = "refused by both"
        /// Pixels are further apart than by rounding.
        case pixels
        case size
        /// The number of frames differs, or a frame is refused.
        case frames
        /// The library refuses what the other decoder shows.
        case refused
        /// The library shows what the other decoder refuses.
        case shown

        /// Whether a difference has to be listed in Tests/corpus/differences.
        var isDifference: Bool { self != .same && self != .refusedByBoth }
    }

    private var counts: [String: [Outcome: Int]] = [:]

    mutating func count(_ outcome: Outcome, _ format: String) {
        counts[format, default: [:]][outcome, default: 0] += 1
    }

    /// A table in Markdown.
    var table: String {
        let columns: [(title: String, outcomes: [Outcome])] = [
            ("The same", [.same]), ("Refused by both", [.refusedByBoth]),
            ("Pixels or frames differ", [.pixels, .size, .frames]), ("Refused here only", [.refused]),
            ("Shown here only", [.shown]),
        ]
        let rows = counts.sorted { $0.key < $1.key }.map { format, counts in
            let numbers = columns.map { column in column.outcomes.reduce(0) { $0 + (counts[$1] ?? 0) } }
            let cells = [counts.values.reduce(0, +)] + numbers
            return "| \(format) | \(cells.map(String.init).joined(separator: " | ")) |"
        }
        let titles = ["Format", "Files"] + columns.map(\.title)
        let head = ["| \(titles.joined(separator: " | ")) |", String(repeating: "|---", count: titles.count) + "|"]
        return (head + rows).joined(separator: "\n")
    }
}
