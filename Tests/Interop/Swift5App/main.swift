import CGtk4
import Foundation
import GtkWebImage
import StandIns

// README's lines where an app in Swift 5 mode writes them: in closures of its binding, which are not isolated.

// swift-format-ignore
extension PictureRef: @retroactive PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { ptr } }
// swift-format-ignore
extension Gtk.Picture: @retroactive PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { .init(gobjectPointer) } }
// swift-format-ignore
extension Adwaita.Picture: @retroactive PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { pointer } }

typealias Picture = AdwaitaForSwift.Picture

@MainActor
func show(_ url: URL, in avatar: OpaquePointer) {
    Picture().inspect { storage, _ in WidgetPointer(storage.opaquePointer!).setImage(with: url) }
    WidgetPointer(avatar).setImage(with: url)
}

let url = URL(fileURLWithPath: CommandLine.arguments[1])
let app = Gtk.Application()
/// What is kept while the window is there.
var kept: [Any] = []
var shownCount = 0

func noteEnd(_ result: Result<ImageResponse, ImageError>) {
    if case .failure(let error) = result { fatalError("\(error)") }
    shownCount += 1
    if shownCount == 5 { app.isRunning = false }
}

app.run { window in
    let box = Gtk.Box()
    window.setChild(box)
    let pictures: [any PictureBindable] = [PictureRef(), Gtk.Picture()]
    for picture in pictures {
        box.add(picture.nativeWidgetPointer)
        picture.imageTransition = .crossfade(duration: .milliseconds(100))
        picture.setImage(with: url, placeholder: .icon("image-missing"), completion: { result in noteEnd(result) })
    }
    let button = Gtk.Button()
    let picture = Gtk.Picture()
    box.add(picture.nativeWidgetPointer)
    button.clicked = { _ in picture.setImage(with: url) { noteEnd($0) } }
    let view = AdwaitaForSwift.Picture()
    view.inspect { storage, _ in
        box.add(UnsafeMutableRawPointer(storage.opaquePointer!))
        WidgetPointer(storage.opaquePointer!).setImage(with: url) { noteEnd($0) }
    }
    // In async code the same line starts a load, and another property waits for it.
    let other = PictureRef()
    box.add(other.nativeWidgetPointer)
    Task { @MainActor in
        let adwaita = Adwaita.Picture()
        adwaita.setImage(with: url)
        let response = try await other.setImage(with: url).response
        noteEnd(.success(response))
    }
    // The app's own module of GTK serves every part of the API.
    for state in ButtonImageState.allCases { WidgetPointer(button.gobjectPointer).setImage(with: url, for: state) }
    for fit in [ImageContentFit.cover, .contain] { WidgetPointer(picture.gobjectPointer).contentFit = fit }
    button.clicked?(button)
    kept = [window, box, button, picture, view, other] + pictures
}
