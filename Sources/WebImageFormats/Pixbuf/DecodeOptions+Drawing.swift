package import FoundationEssentials
package import WebImageCore

extension DecodeOptions {
    /// The largest SVG in bytes that is drawn in the process of the app, where its memory is not limited otherwise.
    static let largestDrawing = 16 << 20

    /// Throws if an SVG is too large for the process of the app.
    package func checkDrawing(_ data: Data) throws(ImageError) {
        // The memory of a decode worker is limited.
        guard data.count > Self.largestDrawing, !LoaderWait.isUnlimited else { return }
        let (count, limit) = Magnitude.bytes(data.count, exceeding: Self.largestDrawing)
        throw ImageError(
            .imageTooLarge,
            url: url,
            reason: "The SVG has \(count), more than the \(limit) that are drawn in the process of the app",
            remedy: "Decode in workers (decoding = .automatic), or use a smaller file."
        )
    }
}
