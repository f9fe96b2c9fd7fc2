import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of Concurrency.md, compiled; those of bindings are in Tests/Interop. What they do not declare is a parameter
// here.

@MainActor
private func fromAnotherThread(picture: Picture, url: URL) {
    Task.detached {
        let image = try await ImageManager.shared.image(for: url)
        await MainActor.run { picture.setImage(image) }
    }
}

private func together(urls: [URL]) async throws -> [WebImage] {
    async let first = ImageManager.shared.image(for: urls[0])
    async let second = ImageManager.shared.image(for: urls[1])
    let images = try await [first, second]
    return images
}

private func updates(url: URL) async {
    for await update in ImageManager.shared.updates(for: ImageRequest(url: url, loading: .progressive)) {
        switch update {
        case .progress(let received, let expected): print(received, expected ?? 0)
        case .partial(let image): print("a part of \(image.naturalSize)")
        case .finished(let result): print(result)
        }
    }
}
