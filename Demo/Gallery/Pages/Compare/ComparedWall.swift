import FoundationEssentials

/// A wall of which the comparison tells figures.
@MainActor
protocol ComparedWall: AnyObject {
    var grid: WallGrid { get }
    var cellsInView: [ComparedCell] { get }
    /// The bytes of all decoded images that are kept.
    var pixelByteCount: Int { get }
    /// Whether nothing is being loaded for the cells in view.
    var isAtRest: Bool { get }
}

/// What a cell is bound to, and what it shows.
struct ComparedCell {
    let url: URL?
    let content: CellContent
}
