import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The sample of MigratingFromNuke.md, compiled.

@MainActor
final class PhotoCell {
    let picture = Picture()

    init() {
        picture.imageTransition = .crossfade(duration: .milliseconds(200))
        picture.errorPlaceholder = .icon("image-missing-symbolic")
    }

    func show(_ url: URL) {
        picture.setImage(
            with: ImageRequest(url: url, loading: .progressive, transformer: .rounded(12)),
            placeholder: .icon("image-x-generic-symbolic")
        )
    }

    func prepareForReuse() {
        picture.cancelImageLoad()
    }
}
