import FoundationEssentials
import WebImageCore

/// Decodes the frames of an animation in a worker, which keeps the canvas. If the worker ends, another one continues.
///
/// @unchecked: one thread at a time uses a frame decoder, as FrameDecoding requires.
final class SandboxedFrames: InterruptibleFrameDecoding, @unchecked Sendable {
    private let pool: WorkerPool
    private let file: SandboxedFile
    private let canvas: PixelSize
    private let size: PixelSize
    private let options: DecodeOptions
    /// The part of the animation that a worker has.
    private var kept: Kept?
    /// The last requested frame, and the frame that was reached on the way to it.
    private var way: (index: Int, reached: Int)?
    /// The number of workers lost since a requested frame was last reached.
    private var restartCount = 0

    /// Workers are ended when memory is short, which must not make an animation restart forever.
    private static let mostRestarts = 5
    /// The memory of the canvas, which counts as memory of this process.
    private var reservation: MemoryBudget.Reservation?
    private(set) var missingMemory: MissingMemory?

    private struct Kept {
        let handle: UInt64
        let worker: DecodeWorker
        var byteCount: Int
    }

    /// - Parameters:
    ///   - canvas: The size of the canvas in pixels.
    ///   - size: The size of the frames in pixels.
    init(_ pool: WorkerPool, _ file: SandboxedFile, canvas: PixelSize, size: PixelSize, options: DecodeOptions) {
        (self.pool, self.file, self.canvas, self.size) = (pool, file, canvas, size)
        var options = options
        // The decode of the first frame has released its memory.
        options.reservedPixelCount = nil
        self.options = options
    }

    deinit { forget() }

    /// The worker itself stops on the way, because other animations wait for it.
    func frame(
        towards index: Int,
        stopsEarly: () -> Bool
    ) throws(ImageError) -> (index: Int, pixels: PixelBuffer) {
        let (answer, payload) = try answer(towards: index)
        if case .failure(let failure) = answer {
            way = nil
            throw failure.of(options.url)
        }
        guard case .frame(let reached, _) = answer, let pixels = payload?.pixels, pixels.size == size,
            isOnTheWay(reached, to: index)
        else {
            throw options.badData("The decode worker has found no such frame")
        }
        way = reached == index ? nil : (index, reached)
        if reached == index { restartCount = 0 }
        return (reached, pixels)
    }

    /// Whether a worker can have reached a frame, so that further calls will reach the requested frame.
    private func isOnTheWay(_ reached: Int, to index: Int) -> Bool {
        guard (0...index).contains(reached) else { return false }
        return way.map { $0.index != index || $0.reached < reached } ?? true
    }

    private func answer(towards index: Int) throws(ImageError) -> (DecodeAnswer, DecodeWorker.Payload?) {
        try reserve()
        if let kept {
            var command = command(kept.handle, index)
            var new: Data?
            command.offset = kept.byteCount
            if file.data.count > kept.byteCount {
                if file.isWhole, MappedFiles.descriptor(of: file.data) != nil { command.offset = 0 }
                new = file.data.dropFirst(command.offset)
            }
            let (answer, payload) = try pool.perform(command, new, in: kept.worker)
            if case .unknown = answer {
                forgetWay()
                restartCount += 1
                guard restartCount <= Self.mostRestarts else {
                    restartCount = 0
                    throw options.lostWorkers
                }
            } else {
                self.kept?.byteCount = file.data.count
                return (answer, payload)
            }
        }
        let handle = pool.makeHandle()
        let (answer, payload, worker) = try pool.perform(
            command(handle, index),
            file.data,
            inFreshWorker: restartCount > 0
        )
        kept = Kept(handle: handle, worker: worker, byteCount: file.data.count)
        return (answer, payload)
    }

    /// Makes another worker start with the first frame.
    private func forgetWay() {
        forget()
        (kept, way) = (nil, nil)
    }

    func releaseMemory() {
        forgetWay()
        reservation = nil
    }

    func takeOver(from other: any FrameDecoding) {
        guard let other = other as? SandboxedFrames, other !== self, let arrival = file.arrival,
            other.file.arrival === arrival, other.size == size
        else { return }
        (kept, reservation) = (other.kept, other.reservation)
        (other.kept, other.way, other.reservation) = (nil, nil, nil)
    }

    private func command(_ handle: UInt64, _ index: Int) -> DecodeCommand {
        var command = DecodeCommand(.frame, handle: handle)
        (command.format, command.options, command.index) = (file.format, options, index)
        command.isArriving = !file.isWhole
        command.limit = DecodeAnswer.Limit(frameSize: size)
        return command
    }

    private func forget() {
        if let kept { kept.worker.forget(kept.handle) }
    }

    private func reserve() throws(ImageError) {
        missingMemory = nil
        guard let budget = options.budget, reservation == nil else { return }
        let byteCount = canvas.pixelCount.boundedProduct(4)
        reservation = budget.keep(byteCount)
        guard reservation == nil else { return }
        missingMemory = MissingMemory(budget: budget, byteCount: byteCount)
        throw ImageError(
            .imageTooLarge,
            url: options.url,
            reason: "The animations that play leave no memory for a canvas of \(canvas) pixels",
            remedy: "Show fewer large animations at a time, or smaller files."
        )
        .dependingOnRequest()
    }
}

/// A file that workers decode, or the part of it that has arrived.
struct SandboxedFile: Sendable {
    var data: Data
    var format: ImageFormat
    /// The kind of workers that decode the file.
    var kind: WorkerKind
    var isWhole = true
    /// The identity that the images of an arriving file share.
    var arrival: ArrivingAnimation?

    /// Moves the bytes of a whole file to memory that workers can map, unless there are few.
    mutating func share() {
        guard isWhole, data.count >= Self.leastShared, MappedFiles.descriptor(of: data) == nil,
            let copy = MappedFiles.copy(data)
        else { return }
        data = copy
    }

    /// The smallest number of bytes for which a mapping is worth a descriptor. Fewer are copied into the worker.
    private static let leastShared = 512 << 10
}
