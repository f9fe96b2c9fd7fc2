internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of Animation.md, compiled. What they do not declare is a parameter here.

@MainActor
private func playback(picture: Picture, url: URL, urls: [URL]) {
    picture.imageBinding.playback.loopCount = 1
    picture.imageBinding.playback.rate = 0.5
    picture.imageBinding.playback.mode = .bounce

    var request = ImageRequest(url: url)
    request.isFirstFrameOnly = true
    picture.setImage(with: request)

    picture.imageBinding.setAnimation(with: urls, frameDuration: .milliseconds(150), loopCount: 3)

    picture.imageBinding.playback.isSynchronized = true
}

@MainActor
private func player(picture: Picture) {
    guard let player = picture.imageBinding.player else { return }
    player.pause()
    player.seek(to: 12)
    player.step(by: -1)
    player.onFrame = { index in print("frame", index) }
    player.onLoop = { loop in print("round", loop) }
    player.play()
}

@MainActor
private func ownDrawing(url: URL, area: UnsafeMutablePointer<GtkWidget>) async throws {
    let image = try await ImageManager.shared.image(for: url)
    let player = AnimationPlayer(image)
    player?.onFrame = { _ in gtk_widget_queue_draw(area) }
    player?.play()
}

private func frames(image: WebImage) throws {
    if let animation = image.animation {
        let pixels = try animation.makeDecoder().frame(at: 3)
        print(animation.frameCount, animation.duration, pixels.size)
    }
}
