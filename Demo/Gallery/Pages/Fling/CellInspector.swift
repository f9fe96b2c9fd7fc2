/// Looks at the cells of a wall ten times a second: reading their pixels in each frame would take half of the frames that are
/// measured.
@MainActor
final class CellInspector {
    private static let interval = Duration.milliseconds(95)

    private var lastLook: ContinuousClock.Instant?
    private let wall: ImageWall
    private let checker: CellChecker?
    private var total = CellFigures()
    private(set) var frameCount = 0

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
        frameCount += 1
        let now = ContinuousClock.now
        if let lastLook, now - lastLook < Self.interval { return }
        lastLook = now
        for picture in wall.picturesInView {
            total.frames += 1
            if CellTexture(picture.widget) == nil {
                total.blankFrames += 1
            } else if let url = wall.itemURL(in: picture) {
                _ = checker?.content(of: picture.widget, itemURL: url)
            }
        }
    }
}
