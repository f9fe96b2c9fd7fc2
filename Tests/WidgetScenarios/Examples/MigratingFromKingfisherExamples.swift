import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of MigratingFromKingfisher.md, compiled. What they do not declare is here.

struct Profile {
    let avatarURL: URL
    let coverURL: URL
    let smallCoverURL: URL
}

@MainActor
final class ProfileView {
    let avatarView = Picture()
    let coverView = Picture()

    func show(_ profile: Profile) {
        avatarView.imageIndicator = .activity
        avatarView.imageTransition = .crossfade(duration: .milliseconds(200))
        avatarView.setImage(
            with: ImageRequest(url: profile.avatarURL, transformer: .rounded(8)),
            placeholder: .icon("avatar-default-symbolic")
        ) { result in
            switch result {
            case .success(let response): print(response.source)
            case .failure(let error): print(error.reason)
            }
        }
        var cover = ImageRequest(url: profile.coverURL)
        cover.fallbackURLs = [profile.smallCoverURL]
        cover.lowDataURL = profile.smallCoverURL
        coverView.setImage(with: cover)
    }
}
