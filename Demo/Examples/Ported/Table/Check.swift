internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage

/// Uses an app as a person would, for the test that starts it: scrolls from top to bottom, waits for each photograph, and presses
/// each button.
@MainActor
final class Check {
    private let table: PhotoTable
    private var shown: Set<URL> = []
    private static let limit = 60.0

    init(_ table: PhotoTable) {
        self.table = table
    }

    func start() {
        Task {
            await scroll()
            for action in table.actions { await action() }
            // Cleared caches change nothing for the cells on screen.
            await wait("the cells after the buttons") { self.visible.allSatisfy(\.isComplete) }
            print("\(shown.count) photographs shown, \(table.statusText)")
            exit(table.statusText.isEmpty ? 1 : 0)
        }
    }

    private var visible: [PhotoCell] {
        table.cells.values.filter { $0.photo != nil && gtk_widget_get_mapped($0.row) != 0 }
    }

    private func scroll() async {
        let adjustment = gtk_scrolled_window_get_vadjustment(table.scrolled)!
        while true {
            await wait("the cells at \(gtk_adjustment_get_value(adjustment))") {
                !self.visible.isEmpty && self.visible.allSatisfy(\.isComplete)
            }
            shown.formUnion(visible.compactMap { $0.photo?.url })
            guard shown.count < table.photos.count else { return }
            gtk_adjustment_set_value(adjustment, gtk_adjustment_get_value(adjustment) + 480)
            await wait("new cells") { self.visible.contains { $0.photo.map { !self.shown.contains($0.url) } ?? false } }
        }
    }

    private func wait(_ what: String, until condition: () -> Bool) async {
        let start = ContinuousClock.now
        while !condition() {
            guard ContinuousClock.now - start < .seconds(Self.limit) else {
                print("Not complete: \(what). \(visible.filter { !$0.isComplete }.map(\.text))")
                exit(1)
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
