/// Files of pictures on disk. Called on the I/O lane only: calls block.
package protocol DiskCaching: Sendable {
    /// The entry of `key`; `nil` when there is none, or none that is sound.
    func entry(for key: String) -> DiskEntry?

    /// Announces an entry: from now on it is found, although it is written later by ``flush()``. Does not block.
    func stage(_ entry: DiskEntry)

    /// Writes what was staged.
    func flush()

    /// Removes the entry of `key`.
    func remove(key: String)

    /// Removes every entry.
    func removeAll()
}
