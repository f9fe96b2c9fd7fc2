/// What the cells in view showed, frame by frame.
struct CellFigures {
    /// The cells in view of all frames together.
    var frames = 0
    /// Those without an image.
    var blankFrames = 0
    /// The images in cells that were looked at; `nil` when nothing tells what they ought to be.
    var checked: Int?
    /// Those that were not of the URL of their cell.
    var wrong = 0

    /// The share of the cells in view that were blank, from 0 to 1.
    var blankShare: Double { frames > 0 ? Double(blankFrames) / Double(frames) : 0 }
}
