/// The work of a manager at one moment: see ``ImageManager/activity``.
public struct LoadActivity: Sendable, Hashable {
    /// The loaders at work: transfers over the network, and readers of files.
    public var transferCount = 0
    /// The decoders at work, transformers included.
    public var decodeCount = 0
    /// The images that wait for a decoder.
    public var waitingDecodeCount = 0

    /// Makes an activity of zeros.
    public init() {}

    init(transferCount: Int, decodeCount: Int, waitingDecodeCount: Int) {
        self.transferCount = transferCount
        self.decodeCount = decodeCount
        self.waitingDecodeCount = waitingDecodeCount
    }

    /// Whether there is nothing to do.
    public var isIdle: Bool { transferCount == 0 && decodeCount == 0 && waitingDecodeCount == 0 }
}
