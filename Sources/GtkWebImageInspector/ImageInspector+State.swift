import FoundationEssentials
package import GtkWebImage

// The state and controls for tests. No member waits.
extension ImageInspector {
    package struct State {
        /// The lines, the oldest first.
        package let lines: [LoadLine]
        /// The number of rows of the list.
        package let rowCount: Int
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
        return State(
            lines: session.lines,
            rowCount: session.pane.list.count,
            requestCount: session.requestCount,
            details: session.pane.showsDetails ? session.pane.details.text : nil,
            badges: session.marks.badgeTexts,
            flashes: session.marks.flashes.map { [$0.x, $0.y, $0.width, $0.height] },
            activity: session.pane.activity.texts,
            isPicking: session.pane.isPicking
        )
    }

    /// The GtkWidget of the pane.
    package var pane: WidgetPointer? { session.map { WidgetPointer($0.pane.widget.raw) } }

    /// Opens the details of a line, as a click on its row does.
    package func openLine(_ id: Int) {
        session?.open(id)
    }

    package func setShowsBadges(_ isOn: Bool) {
        session?.pane.setBadges(isOn)
    }

    package func setPicks(_ isOn: Bool) {
        session?.pane.setPicking(isOn)
    }
}
