import FoundationEssentials
import WebImageCore

/// Decodes the frames of an animation in a worker, which keeps the canvas. Another worker goes on when that one ends.
///
/// @unchecked: one thread at a time uses a frame decoder, as FrameDecoding demands.
final class SandboxedFrames: InterruptibleFrameDecoding, @unchecked Sendable {
    private let sandbox: DecodeSandbox
    private let data: Data
    private let canvas: PixelSize
    private let size: PixelSize
    private let options: DecodeOptions
    private let handle: UInt64
    private var place: DecodeSandbox.Place?
    /// The memory of the canvas, which counts as if it were this process's.
    private var reservation: MemoryBudget.Reservation?
    private(set) var missingMemory: MissingMemory?

    /// - Parameters:
    ///   - canvas: The size of the canvas in pixels.
    ///   - size: The size of the frames in pixels.
    init(_ sandbox: DecodeSandbox, _ data: Data, canvas: PixelSize, size: PixelSize, options: DecodeOptions) {
        (self.sandbox, self.data, self.canvas, self.size) = (sandbox, data, canvas, size)
        var options = options
        // The decode of the first frame has given its memory back.
        options.reservedPixelCount = nil
        self.options = options
        handle = sandbox.makeHandle()
    }

    deinit { place?.worker.forget(handle) }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        try reserve()
        var command = DecodeCommand(.frame, handle: handle)
        (command.options, command.index) = (options, index)
        if let place {
            let (answer, payload) = try sandbox.perform(command, nil, at: place)
            if case .unknown = answer { self.place = nil } else { return try pixels(answer, payload) }
        }
        let (answer, payload, place) = try sandbox.perform(command, data, inAnimations: true)
        self.place = place
        return try pixels(answer, payload)
    }

    func frame(towards index: Int, stopsEarly: () -> Bool) throws(ImageError) -> (index: Int, pixels: PixelBuffer) {
        (index, try frame(at: index))
    }

    func releaseMemory() {
        place?.worker.forget(handle)
        (place, reservation) = (nil, nil)
    }

    /// The worker has the canvas.
    func takeOver(from other: any FrameDecoding) {}

    private func reserve() throws(ImageError) {
        missingMemory = nil
        guard let budget = options.budget, reservation == nil else { return }
        let byteCount = canvas.pixelCount.boundedProduct(4)
        reservation = budget.keep(byteCount)
        guard reservation == nil else { return }
        missingMemory = MissingMemory(budget: budget, byteCount: byteCount)
        var error = ImageError(
            .imageTooLarge,
            url: options.url,
            reason: "The animations that play leave no memory for a canvas of \(canvas) pixels",
            remedy: "Show fewer large animations at a time, or smaller files."
        )
        error.dependsOnRequest = true
        throw error
    }

    private func pixels(_ answer: DecodeAnswer, _ payload: DecodeWorker.Payload?) throws(ImageError) -> PixelBuffer {
        if case .failure(let failure) = answer { throw failure.error(for: options.url) }
        guard case .frame = answer, let pixels = payload?.pixels, pixels.size == size else {
            throw options.badData("The decode worker has found no such frame")
        }
        return pixels
    }
}
