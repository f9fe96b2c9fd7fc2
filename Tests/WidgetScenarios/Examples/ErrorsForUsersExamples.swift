import GtkWebImage
import GtkWebImageWidgets

// The samples of ErrorsForUsers.md, compiled. What they do not declare is a parameter here.

func message(for error: ImageError) -> String? {
    switch error.code {
    case .cancelled, .notInCache: nil
    case .offline: "You are offline."
    case .badStatus where error.httpStatus == 401: "Sign in to see this image."
    case .badStatus where error.httpStatus == 404: "This image no longer exists."
    case _ where error.isTransient: "The image could not be loaded. Try again later."
    default: "This image cannot be shown."
    }
}

@MainActor
private func failures(picture: Picture) {
    picture.errorPlaceholder = .icon("image-missing-symbolic")
    picture.imageBinding.retriesOnClick = true
}
