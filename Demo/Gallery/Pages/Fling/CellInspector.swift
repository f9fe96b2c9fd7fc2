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

/// Looks at the cells of a wall ten times a second: reading their pixels in each frame would take half of the frames that are
/// measured.
@MainActor
final class CellInspector {
    private static let interval = Duration.milliseconds(95)

    private var lastLook: ContinuousClock.Instant?
    private let wall: ImageWall
    private let checker: CellChecker?
    private var total = CellFigures()

    /// - Parameter signatures: Those of the images of the wall; `nil` when they are not known.
    init(_ wall: ImageWall, signatures: ImageSignatures?) {
        (self.wall, checker) = (wall, signatures.map { CellChecker($0) })
    }

    var figures: CellFigures {
        var figures = total
        if let counts = checker?.counts { (figures.checked, figures.wrong) = (counts.checked, counts.wrong) }
        return figures
    }

    /// Looks at the cells in view.
    func look() {
        let now = ContinuousClock.now
        if let lastLook, now - lastLook < Self.interval { return }
        lastLook = now
        for picture in wall.picturesInView {
            total.frames += 1
            guard let texture = CellTexture(picture.widget) else {
                total.blankFrames += 1
                continue
            }
            if let url = wall.itemURL(in: picture) { checker?.check(texture, in: picture.widget, itemURL: url) }
        }
    }
}
