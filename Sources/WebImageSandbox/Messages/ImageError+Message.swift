import FoundationEssentials
import WebImageCore

extension ImageError: MessageFields {
    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        var (code, reason, remedy) = (code, reason, remedy)
        // Only errors of decoders are allowed. A worker must not claim others, such as that the app is offline.
        try coder.code(&code, among: [.badImageData, .unsupportedFormat, .imageTooLarge, .decoderUnavailable])
        try coder.code(&reason, longest: MessageCoder.longestText)
        try coder.code(&remedy, longest: MessageCoder.longestText)
        if coder.isReading { self = ImageError(code, url: nil, reason: reason, remedy: remedy) }
        try coder.code(&dependsOnRequest)
        try coder.code(&isOfLaterFrames)
        try coder.code(&unreservedPixelCount)
    }

    /// The error with the URL, which only the app knows.
    func of(_ url: URL?) -> ImageError {
        var error = ImageError(code, url: url, reason: reason, remedy: remedy)
        (error.dependsOnRequest, error.isOfLaterFrames) = (dependsOnRequest, isOfLaterFrames)
        error.unreservedPixelCount = unreservedPixelCount
        return error
    }
}
