import FoundationEssentials

/// What one side of the comparison has done since the page was opened.
struct CompareFigures {
    /// The images whose cells were in view.
    private var wanted: Set<URL> = []
    /// Those that were seen there, or an image in their place while it could not be told which.
    private var shown: Set<URL> = []
    /// Those in whose cells another image was seen.
    private var wrong: Set<URL> = []
    var byteCount = 0
    var pixelByteCount = 0
    /// The milliseconds of the longest frame while the side was scrolled; 0 before.
    private var longestFrame = 0.0
    /// The seconds that the last way down and up took; 0 before.
    private var seconds = 0.0

    /// Takes the cells of a frame into account.
    mutating func add(_ cells: [ComparedCell]) {
        for cell in cells {
            guard let url = cell.url else { continue }
            wanted.insert(url)
            switch cell.content {
            case .nothing: break
            case .own, .unknown: shown.insert(url)
            case .other: wrong.insert(url)
            }
        }
    }

    mutating func add(_ times: FrameTimes) {
        longestFrame = max(longestFrame, times.longest)
        seconds = times.seconds
    }

    /// A name and its value, in the order in which they are shown.
    @MainActor var rows: [(name: String, value: String)] {
        [
            (tr("Images shown"), tr("%1 of %2", shown.count, wanted.count)),
            (tr("Wrong images"), "\(wrong.count)"),
            (tr("Transferred"), Page.size(byteCount)),
            (tr("Decoded"), Page.size(pixelByteCount)),
            (tr("Longest frame"), longestFrame > 0 ? tr("%1 ms", Int(longestFrame.rounded())) : "–"),
            (tr("Scroll time"), seconds > 0 ? tr("%1 s", Page.number(seconds)) : "–"),
        ]
    }
}
