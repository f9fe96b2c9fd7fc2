public import FoundationEssentials

/// What a loader says while it loads.
public enum LoadEvent: Sendable {
    /// So many bytes have come; the total is known where the server says so.
    case progress(received: Int64, expected: Int64?)
    /// The next bytes. Only when asked for.
    case data(Data)
    /// The end.
    case finished(Result<LoadedData, ImageError>)
}
