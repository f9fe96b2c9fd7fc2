internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of README.md, compiled. What they do not declare is a parameter here.

@MainActor
private func firstScreen(url: URL, picture: Picture) {
    picture.setImage(with: url)
}

@MainActor
private func showProgress(url: URL, picture: Picture) async throws {
    picture.setImage(
        with: ImageRequest(url: url, loading: .progressive),
        placeholder: .icon("image-x-generic-symbolic"),
        progress: { received, expected in print(received, expected ?? 0) },
        completion: { result in
            switch result {
            case .success(let response): print(response.image.pixelSize, response.source)
            case .failure(let error): print(error)
            }
        }
    )

    let response = try await picture.setImage(with: url).response
    let image = try await ImageManager.shared.image(for: url)
    _ = (response, image)
}

@MainActor
private func roundAvatar(url: URL, picture: Picture) {
    picture.setImage(with: ImageRequest(url: url, transformer: .circle(border: ImageBorder(width: 2, color: .white))))
    picture.imageTransition = .crossfade(duration: .milliseconds(200))
    picture.errorPlaceholder = .icon("image-missing-symbolic")
    picture.imageBinding.retriesOnClick = true
}

@MainActor
private func onAButton(url: URL, button: Button) {
    button.setImage(with: url)
    button.setImage(with: url, for: .normal)
    button.setBackgroundImage(with: url)
}

@MainActor
private func inAList(urls: [URL], item: OpaquePointer, url: URL) {
    let factory = ImageListFactory(width: 160, height: 120) { position in urls[position] }
    let grid = gtk_grid_view_new(nil, nil)!
    gtk_grid_view_set_factory(OpaquePointer(grid), factory.nativeFactory)

    WidgetPointer(gtk_list_item_get_child(item)).setImage(with: url)
    WidgetPointer(gtk_list_item_get_child(item)).cancelImageLoad()
}
