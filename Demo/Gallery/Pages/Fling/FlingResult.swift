import FoundationEssentials
import GtkWebImage

/// What was measured while the wall was flung.
struct FlingResult {
    /// How many images the wall has.
    let imageCount: Int
    let times: FrameTimes
    let cells: CellFigures
    let loads: LoadCounts.Numbers
    /// The bytes of memory that the gallery had at most, and those of the images that it keeps decoded.
    let memory: (process: Int, pixels: Int)
    /// The frames of the same wall with empty cells, when it was flung, too.
    var empty: FrameTimes?

    /// A name and its value, in the order in which they are shown.
    @MainActor var rows: [(name: String, value: String)] {
        var rows = [
            (tr("Images on the wall"), "\(imageCount)"),
            (tr("Frames per second"), Page.number(times.framesPerSecond)),
            (tr("Longest frame"), tr("%1 ms", Int(times.longest.rounded()))),
        ]
        if let empty {
            rows += [
                (tr("Frames per second with empty cells"), Page.number(empty.framesPerSecond)),
                (tr("Longest frame with empty cells"), tr("%1 ms", Int(empty.longest.rounded()))),
            ]
        }
        return rows + [
            (tr("Blank cells"), tr("%1 %", Page.number(cells.blankShare * 100))),
            (tr("Wrong images"), cells.checked.map { tr("%1 of %2", cells.wrong, $0) } ?? tr("not checked")),
            (tr("From memory, disk, network"), "\(loads.memory), \(loads.disk), \(loads.network)"),
            (tr("Transfers"), "\(loads.transfers)"),
            (tr("Cancelled loads"), "\(loads.cancelled)"),
            (tr("Bytes received"), Page.size(loads.byteCount)),
            (tr("Memory of the program"), Page.size(memory.process)),
            (tr("Memory of decoded images"), Page.size(memory.pixels)),
        ]
    }

    /// The result for a report, one value a line.
    @MainActor var text: String {
        ([title] + rows.map { "\($0.name): \($0.value)" }).joined(separator: "\n") + "\n"
    }

    @MainActor var title: String { tr("Fling, %1 s", Int(times.seconds.rounded())) }
}
