import Dispatch
import Foundation
import WebImageCore

/// Zooms through a large image as a view does, and says how long regions take: the whole image at an eighth of its size, a tile at its
/// top, middle and bottom, and windows in many places.
func decodeRegions(of path: String, with manager: ImageManager) throws(ImageError) -> PixelSize {
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var result: Result<PixelSize, ImageError>?
    Task {
        do throws(ImageError) {
            result = .success(try await zoom(path, manager))
        } catch {
            result = .failure(error)
        }
        done.signal()
    }
    done.wait()
    return try result!.get()
}

private func zoom(_ path: String, _ manager: ImageManager) async throws(ImageError) -> PixelSize {
    let image = try await manager.tiledImage(for: URL(filePath: path))
    let size = image.size
    try await time("overview") { () async throws(ImageError) in _ = try await image.region(image.bounds, scale: 0.125) }
    for (name, y) in [("top", 0), ("middle", size.height / 2), ("bottom", size.height - 512)] {
        try await time("tile at the \(name)") { () async throws(ImageError) in
            _ = try await image.region(PixelRect(x: size.width / 2, y: y, width: 512, height: 512))
        }
    }
    for scale in [1, 0.5, 0.25] {
        for index in 0..<8 {
            let (width, height) = (Int(1280 / scale), Int(800 / scale))
            let x = index * 977 % max(size.width - width, 1)
            let y = index * 733 % max(size.height - height, 1)
            _ = try await image.region(PixelRect(x: x, y: y, width: width, height: height), scale: scale)
        }
    }
    return size
}

private func time(_ name: String, _ body: () async throws(ImageError) -> Void) async throws(ImageError) {
    let start = ContinuousClock.now
    try await body()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    print("\(name): \(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms")
}
