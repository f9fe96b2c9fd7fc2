import Synchronization

/// What the jobs of one source make of its bytes, so that none makes what another has made: images as decoded, and
/// those after each step of a transformer.
final class DecodeCoalescer: Sendable {
    /// Held while the image is made: who wants the same waits, on the decode queue, and has it then.
    private final class Cell: Sendable {
        let result = Mutex<Result<WebImage, ImageError>?>(nil)
    }

    private let cells = Mutex<[String: Cell]>([:])

    /// - Parameters:
    ///   - key: Says all that the image depends on.
    ///   - make: Called once for a key.
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
            }
            result = made
            return made
        }
        return try result.get()
    }
}

extension JobGraph.Job {
    /// What the decoded image depends on, besides the bytes.
    var decodeKey: String {
        let request = request
        let decoder = request.decoder.map { String(reflecting: type(of: $0)) } ?? ""
        let format = request.pixelFormat.map { "\($0)" } ?? ""
        return
            "\(request.decodeSize) \(request.scale) \(decoder) \(request.convertsToSRGB) \(request.isFirstFrameOnly) \(format) "
            + (request.formatHint?.rawValue ?? "")
    }
}
