/// The work of a manager at one moment: see ``ImageManager/activity``.
public struct LoadActivity: Sendable, Hashable {
    /// The number of running loaders: transfers over the network, and reads of files.
    public var transferCount = 0
    /// The number of running decoders, including transformers.
    public var decodeCount = 0
    /// The number of images that wait for a decoder.
    public var waitingDecodeCount = 0

    package init(transferCount: Int = 0, decodeCount: Int = 0, waitingDecodeCount: Int = 0) {
        self.transferCount = transferCount
        self.decodeCount = decodeCount
        self.waitingDecodeCount = waitingDecodeCount
    }

    /// Whether there is nothing to do.
    package var isIdle: Bool { transferCount == 0 && decodeCount == 0 && waitingDecodeCount == 0 }
}
