// A pixel as it is in memory: red in the lowest byte, alpha in the highest, colours premultiplied.
extension UInt32 {
    /// The pixel drawn over another one.
    @inline(__always)
    func over(_ under: UInt32) -> UInt32 {
        let through = 255 - self >> 24
        // Two channels at a time, each in 16 bits; the division by 255 is rounded.
        var low = (under & 0x00FF_00FF) &* through &+ 0x0080_0080
        low = (low &+ (low >> 8 & 0x00FF_00FF)) >> 8 & 0x00FF_00FF
        var high = (under >> 8 & 0x00FF_00FF) &* through &+ 0x0080_0080
        high = (high &+ (high >> 8 & 0x00FF_00FF)) >> 8 & 0x00FF_00FF
        return self &+ (low | high << 8)
    }

    /// The pixel with a share of its alpha.
    func scaled(by share: Double) -> UInt32 {
        func channel(_ shift: UInt32) -> UInt32 { UInt32((Double(self >> shift & 255) * share).rounded()) << shift }
        return channel(0) | channel(8) | channel(16) | channel(24)
    }
}
