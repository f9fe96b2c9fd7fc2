import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Logging

// The samples of Troubleshooting.md and Packaging.md, compiled. What they do not declare is a parameter here.

private func lookAtTheLog() {
    var logger = Logger(label: "org.example.App.images")
    logger.logLevel = .debug
    WebImageLog.logger = logger
}

@MainActor
private func lookAtTheState(picture: Picture, url: URL) {
    picture.setImage(with: url) { result in print(result) }
    print(picture.imageProgress.state, picture.imageBinding.request?.url ?? "no URL")
}

@MainActor
private func lookAtTheHistory(picture: Picture, request: ImageRequest) {
    picture.setImage(with: request) { result in
        if case .failure(let error) = result { print(error.report) }
    }
}

private func lookAtTheSteps() {
    let steps = ImageManager.shared.traceEvents()
    Task { for await step in steps { print(step.kind, step.url) } }
}

private func authorities() {
    let files = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"]
    ImageDownloader.shared.configuration.certificateAuthorityFile =
        files.first { FileManager.default.isReadableFile(atPath: $0) }
}
