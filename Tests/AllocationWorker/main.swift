import CAllocationCounter
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import TestSupport
import WebImageTesting

// Prints how many allocations one operation takes on average: AllocationWorker bind, or AllocationWorker KIND with a kind of
// RequestWork. AllocationTests compares the number with a budget. It is a program of its own since the counter replaces
// malloc for the whole process.

let operation = CommandLine.arguments.dropFirst().first ?? ""

/// Runs the operation once to fill pools and caches, and then as often as the count says.
func report(_ count: Int, _ body: (Int) -> Void) {
    body(count)
    let before = allocation_count()
    body(count)
    print(Double(allocation_count() - before) / Double(count))
}

if let kind = RequestWork.Kind(rawValue: operation) {
    let work = RequestWork(kind)
    report(kind.count) { work.run(count: $0) }
} else if operation == "bind" {
    let display = try BroadwayDisplay.start()
    display.exportEnvironment()
    guard gtk_init_check() != 0 else {
        FileHandle.standardError.write(Data("GTK finds no display\n".utf8))
        exit(2)
    }
    reportBinding()
    display.stop()
} else {
    FileHandle.standardError.write(Data("Usage: AllocationWorker bind|load|hit|miss|coalesced|cancelled\n".utf8))
    exit(2)
}

/// Sets images that are in memory on widgets that are on screen.
@MainActor
func reportBinding() {
    let loader = FakeLoader()
    let file = TestImage.solid(0x336699, size: PixelSize(width: 160, height: 120))
    let urls = (0..<50).map { URL(string: "https://example.org/some/folder/\($0).png")! }
    for url in urls { loader.answer(url, with: file) }
    let manager = ImageManager.testing(loader)
    let window = gtk_window_new()!
    let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
    gtk_window_set_child(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self), box)
    let pictures = urls.map { _ in
        let picture = gtk_picture_new()!
        gtk_widget_set_size_request(picture, 40, 30)
        gtk_box_append(UnsafeMutableRawPointer(box).assumingMemoryBound(to: GtkBox.self), picture)
        return PicturePointer(picture)
    }
    for (picture, url) in zip(pictures, urls) { picture.setImage(with: url, manager: manager) }
    gtk_window_present(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self))
    _ = MainLoopPump.run(until: { pictures.allSatisfy { $0.currentImage != nil } })
    var round = 0
    report(pictures.count * 20) { count in
        for _ in 0..<count / pictures.count {
            round += 1
            for (index, picture) in pictures.enumerated() {
                picture.setImage(with: urls[(index + round) % urls.count], manager: manager)
            }
        }
    }
}
