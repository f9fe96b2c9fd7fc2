import GtkWebImage

/// What was measured while the wall was flung.
struct FlingResult {
    /// How many images the wall has.
    let imageCount: Int
    let times: FrameTimes
    let cells: CellFigures
    let loads: LoadCounts.Numbers

    /// The result for a report, one value a line.
    @MainActor var text: String {
        let rows = [
            (tr("Images on the wall"), "\(imageCount)"),
            (tr("Frames per second"), Page.number(times.framesPerSecond)),
            (tr("Longest frame"), tr("%1 ms", Int(times.longest.rounded()))),
            (tr("Blank cells"), tr("%1 %", Page.number(cells.blankShare * 100))),
            (tr("Wrong images"), cells.checked.map { tr("%1 of %2", cells.wrong, $0) } ?? tr("not checked")),
            (tr("From memory, disk, network"), "\(loads.memory), \(loads.disk), \(loads.network)"),
            (tr("Cancelled loads"), "\(loads.cancelled)"),
        ]
        return rows.map { "\($0.0): \($0.1)\n" }.joined()
    }

    /// The figures that say how well the fling went, on a line.
    @MainActor var summary: String {
        let wrong = cells.checked.map { tr("%1 wrong of %2 seen", cells.wrong, $0) }
        let frames = tr(
            "%1 frames a second, the longest %2 ms",
            Int(times.framesPerSecond.rounded()),
            Int(times.longest.rounded())
        )
        return [wrong, frames].compactMap(\.self).joined(separator: ", ")
    }
}
