import GtkWebImage

/// The tiles of a zoomed image as textures. The least recently shown tiles are removed first.
struct TileCache {
    /// A tile of an image at one of its reductions.
    struct Key: Hashable, Sendable {
        let reduction: Int
        let tile: TileGrid.Tile
    }

    private struct Entry {
        let texture: Texture
        let byteCount: Int
        var lastUse: Int
    }

    private var entries: [Key: Entry] = [:]
    private var time = 0
    /// The bytes of all tiles.
    private(set) var byteCount = 0

    func contains(_ key: Key) -> Bool { entries[key] != nil }

    /// The texture of a tile, which counts as used now.
    mutating func use(_ key: Key) -> Texture? {
        time += 1
        entries[key]?.lastUse = time
        return entries[key]?.texture
    }

    mutating func insert(_ texture: Texture, byteCount: Int, for key: Key) {
        time += 1
        self.byteCount += byteCount - (entries[key]?.byteCount ?? 0)
        entries[key] = Entry(texture: texture, byteCount: byteCount, lastUse: time)
    }

    /// Removes tiles until the rest fits in a number of bytes.
    /// - Parameter visible: Tiles to keep in any case.
    mutating func trim(to limit: Int, keeping visible: Set<Key>) {
        guard byteCount > limit else { return }
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) where !visible.contains(key) {
            entries[key] = nil
            byteCount -= entry.byteCount
            if byteCount <= limit { return }
        }
    }

    mutating func removeAll() { self = TileCache() }
}
