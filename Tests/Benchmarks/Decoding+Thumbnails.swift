import Foundation
import TestSupport
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

extension Decoding {
    /// Measures how long a large file of this machine takes to its thumbnail, and what that costs the image.
    func thumbnails(_ folder: String) throws {
        let size = PixelSize(width: 4000, height: 3000)
        let thumbnail = Photograph.jpeg(seed: 2, size: PixelSize(width: 160, height: 120))
        let photo = TestImage.jpeg(
            Photograph.jpeg(seed: 1, size: size),
            with: [TestImage.exifSegment(thumbnail: thumbnail)]
        )
        let url = URL(filePath: "\(folder)/camera.jpg")
        try photo.write(to: url)
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.decoding = .inProcess
        let manager = ImageManager(configuration: configuration)
        print(
            "A local JPEG of \(size) with a thumbnail of 160x120: to the thumbnail, to the image, ratio to a load without it"
        )
        let boxes: [DecodeSize] = [
            .contain(PixelSize(width: 400, height: 300)), .contain(PixelSize(width: 1600, height: 1200)), .original,
        ]
        for box in boxes {
            var measured = Rounds()
            for round in 0..<rounds {
                // Neither of the two is always the one that finds the memory of the other.
                let order: [ImageRequest.Loading] =
                    round % 2 == 0 ? [.progressive, .complete] : [.complete, .progressive]
                for loading in order {
                    var request = ImageRequest(url: url, loading: loading, decodeSize: box)
                    request.cacheAccess = CacheAccess(reads: [], writes: [])
                    let (partials, ends) = (EventLog<ContinuousClock.Instant>(), EventLog<ContinuousClock.Instant>())
                    let start = ContinuousClock.now
                    _ = manager.load(request, on: InlineDispatcher(), partial: { _ in partials.add(.now) }) { _ in
                        ends.add(.now)
                    }
                    precondition(ends.wait { !$0.isEmpty })
                    let isProgressive = loading == .progressive
                    measured.add(isProgressive ? "image" : "complete", seconds: (ends.all[0] - start) / .seconds(1))
                    if isProgressive { measured.add("thumbnail", seconds: (partials.all[0] - start) / .seconds(1)) }
                }
            }
            for _ in 0..<rounds {
                var options = DecodeOptions(url: url, size: box)
                options.convertsToSRGB = true
                measured.measure("cost") { precondition(JPEGCoder().thumbnail(in: photo, options: options) != nil) }
            }
            let times = ["thumbnail", "image", "cost"].map {
                Rounds.format(Rounds.median(measured.seconds[$0] ?? []) * 1000)
            }
            let ratio = Rounds.format(measured.ratio("image", to: "complete"))
            print("\(box): \(times[0]) ms, \(times[1]) ms, \(ratio); the thumbnail takes \(times[2]) ms")
        }
    }
}
