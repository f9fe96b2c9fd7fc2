import FoundationEssentials
import Synchronization
import WebImageCore

/// Opens the files of tiled images and decodes their regions, outside the pipeline, but on its decode queue and within its memory
/// budget.
struct RegionDecoder: Sendable {
    private let maker: ImageMaker
    private let work: RegionWork

    init(_ dependencies: Pipeline.Dependencies) {
        maker = ImageMaker(dependencies)
        work = RegionWork(queue: dependencies.decodeQueue, budget: dependencies.budget)
    }

    /// Finds the decoder of a file and reads its header. A file without regions is decoded at once.
    func open(_ data: Data, of request: ImageRequest, limit: Int) async throws(ImageError) -> TiledImage {
        var options = maker.decodeOptions(request)
        options.size = .original
        options.isFirstFrameOnly = true
        options.keepsWideColors = false
        let sniffed = ImageFormat(sniffing: data, hint: options.formatHint)
        let coder = try maker.coder(for: data, as: sniffed, of: request)
        if coder.decodesRegions(of: data),
            let header = ImageHeader(reading: data, hint: options.formatHint)?.turned(by: options)
        {
            guard !header.size.isEmpty else { throw options.badData("The image's header says \(header.size) pixels") }
            // A decode needs a band of the image as wide as the region, and the cut or turned region.
            let regions = ImageRegions(size: header.size, options: options, work: work, bytesPerPixel: 8) {
                [options] region, isCancelled throws(ImageError) in
                try coder.decode(region, of: data, options: options, isCancelled: isCancelled)
            }
            return TiledImage(url: request.url, format: sniffed, byteCount: data.count, decodesRegions: true, regions)
        }
        let (final, cost) = try largestAffordable(options, for: data, as: sniffed, maximumByteCount: limit)
        let image = try await work.run(byteCount: cost.byteCount, priority: request.priority, url: request.url) {
            isCancelled throws(ImageError) in
            try coder.decode(data, options: final, holding: nil, isCancelled: isCancelled)
        }
        let regions = ImageRegions(size: image.naturalSize, options: final, work: work, bytesPerPixel: 4) {
            [image] region, _ throws(ImageError) in
            try image.part(region, final)
        }
        return TiledImage(url: request.url, format: image.format, byteCount: data.count, decodesRegions: false, regions)
    }
}

extension RegionDecoder {
    /// The options for the largest image that the limit and the memory budget allow.
    private func largestAffordable(
        _ options: DecodeOptions,
        for data: Data,
        as format: ImageFormat,
        maximumByteCount: Int
    ) throws(ImageError) -> (DecodeOptions, DecodeCost) {
        var (options, limit) = (options, max(maximumByteCount, 4))
        while true {
            options.size = .within(byteCount: limit)
            do {
                return (options, try work.budget.cost(ofDecoding: data, as: format, options))
            } catch {
                guard error.code == .imageTooLarge, error.dependsOnRequest, limit > Self.fewestBytes else {
                    throw error
                }
                limit -= limit / 4
            }
        }
    }

    /// Below this limit, a view of parts would show no detail.
    private static let fewestBytes = 1 << 20
}

/// The regions of an image, each decoded on demand.
struct ImageRegions: Sendable {
    /// The size of the upright image in pixels.
    let size: PixelSize
    let options: DecodeOptions
    let work: RegionWork
    /// The bytes that a decode needs for each pixel of its region.
    let bytesPerPixel: Int
    let decode: @Sendable (_ region: DecodeRegion, _ isCancelled: () -> Bool) throws(ImageError) -> WebImage

    /// A region of the image, which has the size of the region's rectangle.
    func image(of region: DecodeRegion, priority: ImagePriority) async throws(ImageError) -> WebImage {
        // A region above the pixel limit fails before it waits for memory.
        try region.check(in: size, options)
        let byteCount = region.rect.size.pixelCount.boundedProduct(bytesPerPixel)
        return try await work.run(byteCount: byteCount, priority: priority, url: options.url) {
            [decode] isCancelled throws(ImageError) in
            try decode(region, isCancelled)
        }
    }
}

extension WebImage {
    /// A region of the file, from an image whose pixels may be scaled.
    fileprivate func part(_ region: DecodeRegion, _ options: DecodeOptions) throws(ImageError) -> WebImage {
        let whole = region.rect.multiplied(by: region.reduction, in: naturalSize)
        let rect = whole.scaled(from: naturalSize, to: pixelSize)
        let part = withExtendedLifetime(pixels) {
            pixels.rows(in: rect).resized(to: region.rect.size, orientation: .up)
        }
        guard let part else { throw options.outOfMemory(region.rect.size) }
        return replacingPixels(part, keepsNaturalSize: false)
    }
}

extension PixelRect {
    /// The rectangle in a scaled image, at least one pixel.
    fileprivate func scaled(from size: PixelSize, to target: PixelSize) -> PixelRect {
        guard target != size else { return self }
        func range(_ start: Int, _ length: Int, from: Int, to: Int) -> (start: Int, length: Int) {
            let first = min(start * to / from, to - 1)
            return (first, max(min(((start + length) * to + from - 1) / from, to) - first, 1))
        }
        let columns = range(x, self.size.width, from: size.width, to: target.width)
        let rows = range(y, self.size.height, from: size.height, to: target.height)
        return PixelRect(x: columns.start, y: rows.start, width: columns.length, height: rows.length)
    }
}

/// Runs the decodes of regions, which tasks do not share.
struct RegionWork: Sendable {
    typealias Body = @Sendable (_ isCancelled: () -> Bool) throws(ImageError) -> WebImage

    let queue: WorkQueue
    let budget: MemoryBudget

    /// Waits for memory and a thread, then runs a decode. Cancelling the Swift task cancels the decode.
    func run(
        byteCount: Int,
        priority: ImagePriority,
        url: URL?,
        _ body: @escaping Body
    ) async throws(ImageError) -> WebImage {
        let decode = RegionDecode(queue: queue, budget: budget, url: url, body)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { decode.start(byteCount: byteCount, priority: priority, $0) }
        } onCancel: {
            decode.cancel()
        }
        return try result.get()
    }
}

private final class RegionDecode: Sendable {
    typealias Answer = CheckedContinuation<Result<WebImage, ImageError>, Never>

    private struct State {
        var answer: Answer?
        var body: RegionWork.Body?
        var isCancelled = false
        var thread: WorkQueue.Ticket?
    }

    private let queue: WorkQueue
    private let budget: MemoryBudget
    private let memory: WorkQueue.Ticket
    private let url: URL?
    private let state: Mutex<State>

    init(queue: WorkQueue, budget: MemoryBudget, url: URL?, _ body: @escaping RegionWork.Body) {
        (self.queue, self.budget, self.url) = (queue, budget, url)
        memory = budget.makeTicket()
        state = Mutex(State(body: body))
    }

    func start(byteCount: Int, priority: ImagePriority, _ answer: Answer) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.answer = answer }
            return state.isCancelled
        }
        guard !isCancelled else { return answer.resume(returning: .failure(.cancelled(url))) }
        budget.waitForDecoding(byteCount, ticket: memory, priority: priority) { [self] reservation in
            let ticket = queue.submit(priority: priority, isResumed: true) { self.run(reservation) }
            let isCancelled = state.withLock { state in
                state.thread = ticket
                return state.isCancelled
            }
            if isCancelled { queue.cancel(ticket) }
        }
    }

    func cancel() {
        let (answer, thread, body) = state.withLock { state in
            state.isCancelled = true
            return (state.answer.take(), state.thread, state.body.take())
        }
        budget.cancel(memory)
        if let thread { queue.cancel(thread) }
        withExtendedLifetime(body) {}
        answer?.resume(returning: .failure(.cancelled(url)))
    }

    private func run(_ reservation: MemoryBudget.Reservation) {
        guard let body = state.withLock({ $0.body.take() }) else { return }
        let result: Result<WebImage, ImageError>
        do throws(ImageError) {
            result = .success(try body { state.withLock { $0.isCancelled } })
        } catch {
            result = .failure(error)
        }
        withExtendedLifetime(reservation) {}
        state.withLock { $0.answer.take() }?.resume(returning: result)
    }
}
