import FoundationEssentials
package import GtkWebImage

// The state and controls for tests. No member waits.
extension ImageInspector {
    package struct State {
        /// The lines, the oldest first.
        package let lines: [LoadLine]
        /// The numbers of the lines in the list, in its order.
        package let rows: [Int]
        /// The starts and ends of their bars, as fractions of the axis.
        package let bars: [[Double]]
        /// The number of requests since the inspector was opened.
        package let requestCount: Int
        /// The text of the details; `nil` while they are hidden.
        package let details: String?
        /// The texts of the badges.
        package let badges: [String]
        /// The flashing boxes as x, y, width and height in the window.
        package let flashes: [[Double]]
        /// The texts about frames, memory and work.
        package let activity: [String]
        /// Whether the next click picks an image.
        package let isPicking: Bool
    }

    /// The current state; `nil` while the inspector is closed.
    package var state: State? {
        guard let session else { return nil }
        let list = session.pane.requests.list
        return State(
            lines: session.lines,
            rows: list.lines.map(\.id),
            bars: list.lines.map { [$0.start, $0.end ?? .now].map { list.axis.position(of: $0, in: 1) } },
            requestCount: session.requestCount,
            details: session.pane.showsDetails ? session.pane.details.text : nil,
            badges: session.marks.badgeTexts,
            flashes: session.marks.flashes.map { [$0.x, $0.y, $0.width, $0.height] },
            activity: session.pane.activity.texts,
            isPicking: isOn(session.pane.pick)
        )
    }

    /// The GtkWidget of the pane.
    package var pane: WidgetPointer? { session.map { WidgetPointer($0.pane.widget.raw) } }

    /// Opens the details of a line, as a click on its row does.
    package func openLine(_ id: Int) {
        session?.open(id)
    }

    /// All loads as an HTTP Archive.
    package var archive: String? { try? session?.archive() }
}
