import CAllocationCounter
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import TestSupport
import WebImageTesting

// Prints how many allocations one operation takes on average: AllocationWorker bind, AllocationWorker start (those of the main
// thread, for widgets that start a load), or AllocationWorker KIND with a kind of RequestWork. AllocationTests compares the number with a budget. It is a program of its own since the counter replaces
// malloc for the whole process.

let operation = CommandLine.arguments.dropFirst().first ?? ""

/// Runs the operation once to fill pools and caches, and then as often as the count says.
/// - Parameter isOwn: Whether only this thread counts.
func report(_ count: Int, isOwn: Bool = false, _ body: (Int) -> Void) {
    body(count)
    let (before, ownBefore) = (allocation_count(), own_allocation_count())
    body(count)
    let sum = isOwn ? own_allocation_count() - ownBefore : allocation_count() - before
    print(Double(sum) / Double(count))
}

if let kind = RequestWork.Kind(rawValue: operation) {
    let work = RequestWork(kind)
    report(kind.count) { work.run(count: $0) }
} else if operation == "bind" || operation == "start" {
    let display = try BroadwayDisplay.start()
    display.exportEnvironment()
    guard gtk_init_check() != 0 else {
        FileHandle.standardError.write(Data("GTK finds no display\n".utf8))
        exit(2)
    }
    reportBinding(isHit: operation == "bind")
    display.stop()
} else {
    FileHandle.standardError.write(Data("Usage: AllocationWorker bind|start|load|hit|miss|coalesced|cancelled\n".utf8))
    exit(2)
}

/// Sets images on widgets that are on screen.
/// - Parameter isHit: Whether the images are in memory. Otherwise each starts a load, and ends that of the image before.
@MainActor
func reportBinding(isHit: Bool) {
    let loader = FakeLoader(holdsResponses: !isHit)
    let file = TestImage.solid(0x336699, size: PixelSize(width: 160, height: 120))
    let urls = (0..<50).map { URL(string: "https://example.org/some/folder/\($0).png")! }
    for url in urls { loader.answer(url, with: file) }
    ImageManager.shared = .testing(loader)
    let window = gtk_window_new()!
    let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
    gtk_window_set_child(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self), box)
    let pictures = urls.map { _ in
        let picture = gtk_picture_new()!
        gtk_widget_set_size_request(picture, 40, 30)
        gtk_box_append(UnsafeMutableRawPointer(box).assumingMemoryBound(to: GtkBox.self), picture)
        return WidgetPointer(picture)
    }
    for (picture, url) in zip(pictures, urls) where isHit { picture.setImage(with: url) }
    gtk_window_present(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self))
    _ = MainLoopPump.run(until: {
        pictures.allSatisfy {
            isHit
                ? $0.currentImage != nil
                : gtk_widget_get_mapped($0.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)) != 0
        }
    })
    let count = loader.started.count
    var round = 0
    report(pictures.count * 20, isOwn: !isHit) { count in
        for _ in 0..<count / pictures.count {
            round += 1
            for (index, picture) in pictures.enumerated() {
                picture.setImage(with: urls[(index + round) % urls.count])
            }
        }
    }
    guard isHit || MainLoopPump.run(until: { loader.started.count > count }) else { fatalError("Nothing was loaded") }
}
