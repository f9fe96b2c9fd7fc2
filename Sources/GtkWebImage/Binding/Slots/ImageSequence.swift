import FoundationEssentials
import WebImageCore

/// Images that play one after another.
struct ImageSequence {
    var requests: [ImageRequest]
    var frameDuration: Duration
    var loopCount: Int

    /// Whether both play the same images in the same way.
    func isEquivalent(to other: ImageSequence) -> Bool {
        (frameDuration, loopCount) == (other.frameDuration, other.loopCount)
            && requests.elementsEqual(other.requests) { $0.isEquivalent(to: $1) }
    }
}

extension ImageSlot {
    /// Loads all images of a sequence concurrently and shows those that have arrived.
    func startSequence(_ sequence: ImageSequence, _ size: DecodeSize) {
        guard let load = current else { return }
        let task = load.task
        let arriving = SequenceLoad(sequence)
        for (index, image) in sequence.requests.enumerated() {
            let request = makeRequest(for: load, at: size, of: image)
            let completion: Completion = { [weak self] result in
                arriving.add(result, at: index)
                guard let self, current?.task === task else {
                    if arriving.isComplete { task.complete(arriving.result) }
                    return
                }
                guard case .loading = current?.state else { return }
                if task.isCancelled {
                    finish(task, .failure(.cancelled(image.url)))
                } else if arriving.isComplete {
                    finish(task, arriving.result)
                } else if let image = arriving.image {
                    showPartial(image)
                }
            }
            let child = load.manager.makeTask(for: request, handlers: .mainActor(completion: completion))
            if task.adopt(child) { child.start() }
        }
    }
}

/// The images of a sequence that have arrived.
@MainActor
private final class SequenceLoad {
    private let sequence: ImageSequence
    private var responses: [ImageResponse?]
    private var firstError: ImageError?
    private var missingCount: Int

    init(_ sequence: ImageSequence) {
        self.sequence = sequence
        responses = Array(repeating: nil, count: sequence.requests.count)
        missingCount = sequence.requests.count
    }

    func add(_ result: Result<ImageResponse, ImageError>, at index: Int) {
        missingCount -= 1
        switch result {
        case .success(let response): responses[index] = response
        case .failure(let error): firstError = firstError ?? error
        }
    }

    var isComplete: Bool { missingCount == 0 }

    /// One image made from all that have arrived, in order: animated if there are several.
    var image: WebImage? {
        let images = responses.compactMap { $0?.image }
        guard let first = images.first else { return nil }
        guard images.count > 1 else { return isComplete ? first : first.with { $0.isPartial = true } }
        let animation = ImageAnimation(
            of: images.map(\.pixels),
            durations: Array(repeating: sequence.frameDuration, count: images.count),
            loopCount: sequence.loopCount
        )
        return first.with { content in
            content.animation = animation
            content.isPartial = !isComplete
        }
    }

    /// The result after all loads have ended.
    var result: Result<ImageResponse, ImageError> {
        guard let image, let first = responses.compactMap({ $0 }).first else {
            return .failure(firstError ?? .cancelled(sequence.requests.first?.url))
        }
        return .success(ImageResponse(image: image, source: first.source, url: first.url))
    }
}
