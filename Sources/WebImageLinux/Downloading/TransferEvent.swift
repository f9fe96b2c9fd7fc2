public import FoundationEssentials
public import WebImageCore

/// What happens to a transfer, for those who watch: a network log, a spinner in the header bar.
public enum TransferEvent: Sendable {
    /// It has left the queue, and the request is being sent.
    case started(URL)
    /// The head of the response has come. Not for a redirect that is followed.
    case responded(URL, HTTPResponse)
    /// It has ended: with the image's bytes, with an error, or because nobody wanted it any more
    /// (ImageError.Code.cancelled).
    case stopped(URL, ImageError?)
    /// It has ended well. Comes after stopped(_:_:).
    case finished(URL, TransferMetrics)
}
