import CGtk4
import Foundation
import GtkWebImage
import StandIns

// The same in Swift 6 mode, where a closure that is not isolated says that it runs on the main thread.

// swift-format-ignore
extension PictureRef: @retroactive PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { ptr } }
// swift-format-ignore
extension Gtk.Picture: @retroactive PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { .init(gobjectPointer) } }
// swift-format-ignore
extension Adwaita.Picture: @retroactive PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { pointer } }

@MainActor
final class Feed {
    let app = Gtk.Application()
    let url: URL
    private var kept: [Any] = []
    private var shownCount = 0

    init(url: URL) {
        self.url = url
    }

    func run() {
        app.run { window in
            MainActor.assumeIsolated { fill(window) }
        }
    }

    private func fill(_ window: Gtk.Window) {
        let box = Gtk.Box()
        window.setChild(box)
        let pictures: [any PictureBindable] = [PictureRef(), Gtk.Picture(), Adwaita.Picture()]
        for picture in pictures {
            box.add(picture.nativeWidgetPointer)
            picture.setImage(with: url) { self.noteEnd($0) }
        }
        let view = AdwaitaForSwift.Picture()
        view.inspect { storage, _ in
            MainActor.assumeIsolated {
                box.add(UnsafeMutableRawPointer(storage.opaquePointer!))
                WidgetPointer(storage.opaquePointer!).setImage(with: url) { self.noteEnd($0) }
            }
        }
        let picture = Gtk.Picture()
        box.add(picture.nativeWidgetPointer)
        Task {
            // A line of its own starts a load; whoever wants the result awaits it.
            pictures[0].setImage(with: url)
            let response = try await picture.setImage(with: url).response
            noteEnd(.success(response))
        }
        for state in ButtonImageState.allCases { WidgetPointer(gtk_button_new()).setImage(with: url, for: state) }
        kept = [box, view, picture] + pictures
    }

    private func noteEnd(_ result: Result<ImageResponse, ImageError>) {
        if case .failure(let error) = result { fatalError("\(error)") }
        shownCount += 1
        if shownCount == 5 { app.isRunning = false }
    }
}

@main
struct App {
    @MainActor
    static func main() {
        // Runs though it starts before anything of the library or of GTK is used.
        let isReady = Gate()
        Task { @MainActor in isReady.isOpen = true }
        Feed(url: URL(fileURLWithPath: CommandLine.arguments[1])).run()
        guard isReady.isOpen else { fatalError("The task that was started first has not run") }
    }

    @MainActor
    final class Gate {
        var isOpen = false
    }
}
