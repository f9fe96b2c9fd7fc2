/// Where prefetched pictures are kept.
public enum PrefetchDestination: Sendable {
    /// In memory, ready to be shown, and on disk.
    case memoryAndDisk
    /// On disk only: for what will be shown later, or at a size that is not known yet. Takes no memory, and little time
    /// to check that it is a picture.
    case disk
}
