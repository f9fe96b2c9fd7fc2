import Synchronization

/// Shares the results of the jobs of one fetch: the decoded image, and the image after each step of a transformer.
final class DecodeCoalescer: Sendable {
    /// Locked while its image is made: a second job waits for the image on the decode queue.
    private final class Cell: Sendable {
        let result = Mutex<Result<WebImage, ImageError>?>(nil)
    }

    private let cells = Mutex<[String: Cell]>([:])

    /// - Parameters:
    ///   - key: Everything that the image depends on, except the bytes.
    ///   - make: Called once for each key. Called again by the next job if the job that called it was cancelled.
    func image(_ key: String, _ make: () throws(ImageError) -> WebImage) throws(ImageError) -> WebImage {
        let cell = cells.withLock { cells in
            if let cell = cells[key] { return cell }
            let cell = Cell()
            cells[key] = cell
            return cell
        }
        let result = cell.result.withLock { result in
            if let result { return result }
            let made: Result<WebImage, ImageError>
            do throws(ImageError) {
                made = .success(try make())
            } catch {
                made = .failure(error)
                // The job that waits next still wants the image.
                if error.isCancelled { return made }
            }
            result = made
            return made
        }
        return try result.get()
    }
}

extension JobGraph.Job {
    /// Everything that the decoded image depends on, except the bytes.
    var decodeKey: String {
        var plain = request
        plain.transformer = nil
        return ImageKey(plain).renditionKey(size: request.resolvedDecodeSize)
    }
}
