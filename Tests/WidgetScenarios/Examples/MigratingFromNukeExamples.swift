import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of MigratingFromNuke.md, compiled. What they do not declare is here.

struct User {
    let id: String
    let avatarURL: URL
}

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

func configureCaches() {
    var configuration = ImageManager.Configuration()
    configuration.diskCache = ImageManager.Configuration.DiskCache(namespace: "photos")
    configuration.maximumMemoryCacheByteCount = 64 << 20
    ImageManager.shared = ImageManager(configuration: configuration)
}

func avatar(of user: User) async throws -> WebImage {
    var request = ImageRequest(url: user.avatarURL, priority: .high)
    request.cacheKey = user.id
    return try await ImageManager.shared.image(for: request)
}
