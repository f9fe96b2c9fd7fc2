import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

/// Numbers that no one means and that a computation or a file of settings can yield.
private let oddNumbers: [Double] = [
    .nan, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1e300, -1e300, 9.3e18, -9.3e18,
    .leastNonzeroMagnitude, -0.0, -1, 0,
]
private let oddIntegers = [Int.max, Int.max - 1, Int.min, Int.min + 1, Int(Int32.max), 1 << 40, -1, 0]
private let oddDurations: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(1e15),
]

/// A trap would end the process, so that these tests need to expect little more than the end of each call.
@Suite("Numbers that are NaN, infinite or huge")
struct OddNumberTests {
    private let small = PixelSize(width: 12, height: 9)
    private let image: WebImage

    init() throws {
        image = try CoderRegistry.builtIn.decode(TestImage.solid(0x336699, size: small), options: DecodeOptions())
    }

    @Test("A number becomes the nearest integer, NaN becomes zero")
    func integers() {
        #expect(oddNumbers.map { Int(bounded: $0) }.prefix(5) == [0, .max, .min, .max, .min])
        #expect(Int32(bounded: 2_147_483_647.5) == .max && Int32(bounded: -1e10) == .min && Int(bounded: -1.9) == -1)
        #expect(UInt8(bounded: -3) == 0 && UInt8(bounded: 256) == 255 && UInt8(bounded: 254.9) == 254)
        #expect(Int.max.boundedSum(1) == .max && Int.min.boundedSum(-1) == .min && 2.boundedSum(-3) == -1)
        #expect(Int.max.boundedProduct(2) == .max && 6.boundedProduct(7) == 42)
        for duration in oddDurations {
            #expect((Duration.zero ... .longest).contains(duration.bounded) && duration.timeoutMilliseconds >= 0)
        }
        for number in oddNumbers { #expect(Duration.bounded(seconds: number) <= .longest) }
    }

    @Test("Transformers end with an image or without one", arguments: oddNumbers)
    func transformers(number: Double) {
        let border = ImageBorder(width: number, color: ImageColor(0x112233, alpha: number))
        let steps: [ImageTransformer] = [
            .blur(number), .rounded(number), .rounded(3, border: border), .circle(border: border), .brightness(number),
            .contrast(number), .saturation(number), .rotate(degrees: number),
            .rotate(degrees: number, growsToFit: false), .tint(ImageColor(0, alpha: number)),
        ]
        for step in steps {
            let result = step.transform(image)
            #expect(result.map { $0.pixelSize.pixelCount < 1000 } ?? !number.isFinite, "\(step.key)")
        }
        let other = WebImage(pixels: image.pixels, naturalSize: PixelSize(width: .max, height: 0), scale: number)
        #expect(other.logicalWidth.isFinite && other.scale >= 1 && other.naturalSize.height == 1)
        for step in steps { _ = step.transform(other) }
    }

    @Test("Resizing and cropping keep to what fits into memory", arguments: oddIntegers)
    func sizes(number: Int) {
        for size in [(number, number), (number, 1), (1, number)].map(PixelSize.init) {
            for mode in [ImageTransformer.ResizeMode.contain, .cover, .stretch, .letterbox] {
                let result = ImageTransformer.resize(to: size, mode: mode).transform(image)
                #expect(result.map { $0.pixelSize.pixelCount <= 1 << 27 } ?? true)
            }
            for corner in [0, number] {
                _ = ImageTransformer.crop(to: PixelRect(x: corner, y: corner, width: size.width, height: size.height))
                    .transform(image)
            }
            #expect(size.pixelCount <= 1 << 27 || BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj")?.image(size: size) == nil)
            for box in [DecodeSize.contain(size), .cover(size), .stretch(size), .within(byteCount: number)] {
                for natural in [size, image.pixelSize] {
                    let target = box.target(for: natural)
                    #expect(target.width <= max(natural.width, 1) && target.height <= max(natural.height, 1))
                }
                let options = DecodeOptions(size: box)
                #expect(throws: Never.self) {
                    try CoderRegistry.builtIn.decode(TestImage.solid(1, size: small), options: options)
                }
            }
        }
    }

    @Test("A size beyond the limit fails with the error of the transformer, not for want of memory")
    func limit() async throws {
        let manager = ImageManager.testing(loader)
        let sizes = [PixelSize(width: 1_000_000, height: 1_000_000), PixelSize(width: .max, height: .max)]
        for size in sizes {
            for mode in [ImageTransformer.ResizeMode.contain, .cover, .stretch, .letterbox] {
                let request = ImageRequest(url: url, transformer: .resize(to: size, mode: mode))
                await #expect { try await manager.image(for: request) } throws: { error in
                    (error as? ImageError)?.code == .transformFailed
                }
            }
            let request = ImageRequest(url: url, decodeSize: .contain(size))
            #expect(try await manager.image(for: request).pixelSize == small)
        }
    }

    private let url = URL(string: "http://127.0.0.1/a")!
    private var loader: FakeLoader {
        let loader = FakeLoader()
        loader.answer(url, with: TestImage.solid(1, size: small))
        return loader
    }

    @Test("Requests, placeholders, encoders and policies take every number", arguments: oddNumbers)
    func values(number: Double) throws {
        var request = ImageRequest(url: url, scale: number)
        request.scale = number
        #expect(request == request && request.scale >= 1)
        #expect(BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj")?.image(punch: number) != nil)
        var options = EncodeOptions()
        options.quality = number
        for format in [ImageFormat.jpeg, .png, .webp] {
            #expect(try !CoderRegistry.builtIn.encode(image, as: format, options: options).isEmpty)
        }
        for duration in oddDurations {
            var policy = ImageRetryPolicy()
            (policy.initialDelay, policy.maximumDelay, policy.maximumCount) = (duration, duration, .max)
            for (multiplier, jitter) in [(number, 0.5), (2, number), (number, number)] {
                (policy.multiplier, policy.jitter) = (multiplier, jitter)
                let error = ImageError(.timedOut, url: nil, reason: "", remedy: "")
                for attempt in [1, 2, 100, Int.max] {
                    let delay = policy.delay(after: error, attempt: attempt, chance: 1)
                    #expect(delay.map { (Duration.zero ... .longest).contains($0) } == true)
                }
            }
        }
        let cache = MemoryCache(costLimit: .max)
        cache.trim(toShare: number)
        var bucket = TokenBucket(ImageDownloader.RateLimit(perSecond: number, burst: 0), now: .now)
        for _ in 0..<3 { #expect(bucket.take(now: .now).map { $0 <= .seconds(1) } ?? true) }
    }

    @Test("Limits of an encoder take every integer", arguments: oddIntegers)
    func encoderLimits(number: Int) {
        var options = EncodeOptions()
        options.maximumByteCount = number
        _ = try? CoderRegistry.builtIn.encode(image, as: .jpeg, options: options)
        options = EncodeOptions()
        options.maximumSize = PixelSize(width: number, height: number)
        _ = try? CoderRegistry.builtIn.encode(image, as: .png, options: options)
    }

    @Test("A manager and its downloader load with every setting", arguments: oddIntegers.indices)
    func configuration(index: Int) async throws {
        let file = TestImage.solid(1, size: small)
        let server = try LocalImageServer { _ in ServerResponse.ok(file, contentType: "image/png") }
        let integer = oddIntegers[index]
        let directory = TemporaryDirectory()
        for (number, duration) in zip(
            [oddNumbers[index], oddNumbers[index + 5]],
            [oddDurations[0], oddDurations[index % 6]]
        ) {
            var download = ImageDownloader.Configuration()
            (download.maximumConcurrentTransfers, download.maximumTransfersPerHost) = (integer, integer)
            (download.connectTimeout, download.idleTimeout) = (max(duration, .seconds(30)), max(duration, .seconds(30)))
            download.totalTimeout = .seconds(Int64.max)
            (download.inMemoryBodyLimit, download.resumableByteCount) = (integer, integer)
            if integer > 1000 { download.maximumByteCount = integer }
            download.rateLimit = ImageDownloader.RateLimit(perSecond: number, burst: integer)
            var configuration = ImageManager.Configuration()
            configuration.downloader = ImageDownloader(configuration: download)
            var disk = ImageManager.Configuration.DiskCache(directory: directory.path)
            (disk.maximumByteCount, disk.renditionShare, disk.maximumAge) = (integer, number, duration)
            configuration.diskCache = disk
            (configuration.maximumMemoryCacheByteCount, configuration.maximumMemoryCacheCount) = (integer, integer)
            (configuration.decodingThreadCount, configuration.failureCacheDuration) = (min(integer, 4), duration)
            configuration.retryPolicy.initialDelay = duration
            let manager = ImageManager(configuration: configuration)
            var request = ImageRequest(url: server.url("/a"), decodeSize: .contain(PixelSize(width: 4, height: 4)))
            request.cacheAccess.awaitsWrites = true
            #expect(try await manager.image(for: request).pixelSize == PixelSize(width: 4, height: 3))
            await manager.cache.removeExpired()
        }
    }

    @Test("Waits and limits take every duration and number")
    func waits() {
        for duration in oddDurations { SystemClock().run(after: duration) {} }
        for integer in oddIntegers {
            for share in oddNumbers {
                var disk = ImageManager.Configuration.DiskCache(directory: "/nowhere/at/all")
                (disk.maximumByteCount, disk.renditionShare) = (integer, share)
                _ = DiskCaches(disk)
            }
        }
    }

    @Test("Animations play with every duration, count and rate")
    func timelines() {
        for duration in oddDurations {
            for count in oddIntegers {
                let animation = ImageAnimation(
                    durations: Array(repeating: duration, count: 40),
                    loopCount: count,
                    size: PixelSize(width: count, height: count),
                    hasAlpha: true,
                    byteCount: count
                ) { fatalError("No frame is decoded") }
                #expect(animation.duration > .zero && animation.byteCount >= 0 && animation.bytesPerFrame > 0)
                for mode in ImagePlayback.Mode.allCases {
                    let timeline = PlaybackTimeline(durations: animation.durations, mode: mode, loopCount: count)
                    for time in oddDurations { #expect((0..<40).contains(timeline.position(at: time).frame)) }
                    for loop in oddIntegers { #expect((timeline.start(ofFrame: 3, loop: loop) ?? .zero) >= .zero) }
                    #expect(timeline.totalDuration.map { $0 > .zero } ?? true)
                }
            }
        }
    }
}
