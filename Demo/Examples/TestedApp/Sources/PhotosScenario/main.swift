import CGtk4
import Foundation
import GtkWebImage
import PhotosUI
import WebImageTesting

// One line an expectation, and the exit status says whether all hold.
func expect(_ condition: Bool, _ text: String) {
    print(condition ? "✔" : "✘", text)
    if !condition { exit(1) }
}

expect(gtk_init_check() != 0, "There is a display")
let loader = FakeLoader()
let url = URL(string: "https://example.org/photo.png")!
loader.answer(url, with: TestImage.solid(0x336699, size: PixelSize(width: 80, height: 60)))
ImageManager.shared = .testing(loader)

let photo = PhotoWindow(url)
expect(MainLoopPump.run(until: { photo.picture.currentImage != nil }), "The photo is shown")
expect(photo.picture.currentImage?.naturalSize == PixelSize(width: 80, height: 60), "It has its size")
