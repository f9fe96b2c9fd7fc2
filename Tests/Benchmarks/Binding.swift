import ArgumentParser
import CAllocationCounter
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import WebImageTesting

/// Measures the main-thread cost of setting an image.
struct Binding: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time and allocations of the main thread for setImage: memory hit, miss, the same image again."
    )

    func run() throws {
        try Broadway.run(measureAll)
    }

    @MainActor
    private func measureAll() throws {
        let loader = FakeLoader()
        let file = TestImage.solid(0x336699, size: PixelSize(width: 160, height: 120))
        let urls = (0..<2000).map { URL(string: "https://example.org/some/folder/\($0).png")! }
        for url in urls { loader.answer(url, with: file) }
        ImageManager.shared = .testing(loader)
        let window = gtk_window_new()!
        let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
        gtk_window_set_child(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self), box)
        func makePictures() -> [WidgetPointer] {
            (0..<200).map { _ in
                let picture = gtk_picture_new()!
                gtk_widget_set_size_request(picture, 40, 30)
                gtk_box_append(UnsafeMutableRawPointer(box).assumingMemoryBound(to: GtkBox.self), picture)
                return WidgetPointer(picture)
            }
        }
        let (pictures, others) = (makePictures(), makePictures())
        // The first image of a widget also creates the state that stays with the widget.
        measure("first image of a widget that is not on screen", pictures.count, rounds: 1, limit: 54) { _ in
            for (index, picture) in pictures.enumerated() { picture.setImage(with: urls[index]) }
        }
        measure("not in memory, not on screen", pictures.count, limit: 3.2) { round in
            for (index, picture) in pictures.enumerated() {
                picture.setImage(with: urls[200 + (index + round) % 200])
            }
        }
        gtk_window_present(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self))
        _ = MainLoopPump.run(until: { pictures.allSatisfy { $0.currentImage != nil } })
        // What an app pays for its first screen, if that is there before its images.
        measure("first image of a widget on screen", others.count, rounds: 1, limit: 48) { _ in
            for (index, picture) in others.enumerated() { picture.setImage(with: urls[index]) }
        }
        _ = MainLoopPump.run(until: { others.allSatisfy { $0.currentImage != nil } })
        measure("the same again", pictures.count, limit: 0.1) { _ in
            for (index, picture) in pictures.enumerated() {
                picture.setImage(with: urls[200 + (index + 8) % 200])
            }
        }
        measure("in memory, on screen", pictures.count, limit: 2.1) { round in
            for (index, picture) in pictures.enumerated() {
                picture.setImage(with: urls[200 + (index + round) % 200])
            }
        }
        measure("not in memory, on screen, cancelled", pictures.count, limit: 10.2) { round in
            for (index, picture) in pictures.enumerated() {
                picture.setImage(with: urls[400 + (index + round) % 200])
                picture.cancelImageLoad()
            }
        }
        measure("not in memory, on screen", pictures.count, rounds: 7, limit: 10.2) { round in
            for (index, picture) in pictures.enumerated() {
                picture.setImage(with: urls[600 + 200 * round + index])
            }
        }
        _ = MainLoopPump.run(until: { pictures.allSatisfy { $0.currentImage != nil } })
    }

    /// Prints the median of the rounds.
    /// - Parameter limit: The allocations that each may take.
    @MainActor
    private func measure(_ name: String, _ count: Int, rounds: Int = 51, limit: Double, body: (Int) -> Void) {
        var results: [(microseconds: Double, allocations: Double)] = []
        for round in 0..<rounds {
            let before = own_allocation_count()
            let time = ContinuousClock().measure { body(round) }
            let allocations = Double(own_allocation_count() - before) / Double(count)
            results.append((time / .microseconds(1) / Double(count), allocations))
        }
        let microseconds = results.map(\.microseconds).sorted()[rounds / 2]
        let allocations = results.map(\.allocations).sorted()[rounds / 2]
        print("\(name): \(Rounds.format(microseconds)) us, \(Rounds.format(allocations)) allocations")
        Limits.check("\(name), allocations", allocations, atMost: limit)
    }
}
