extension PixelRows {
    /// The image at another size and upright.
    /// - Parameters:
    ///   - target: The size before orientation.
    ///   - orientation: The orientation that is applied afterwards.
    /// - Returns: `nil` when there is no memory.
    package func resized(to target: PixelSize, orientation: ImageOrientation) -> PixelBuffer? {
        guard target != size else { return PixelBuffer(self, orientation: orientation) }
        switch layout {
        case .rgb, .premultiplied:
            let small = PixelBuffer(size: target, format: layout == .rgb ? .rgb : .rgbaPremultiplied) { memory in
                AreaScaler.scale(self, to: target, into: memory.bindMemory(to: UInt8.self).baseAddress!)
            }
            return orientation == .up ? small : small?.oriented(orientation)
        case .rgba, .rgbx:
            // Means of colours have to be weighted by alpha, which premultiplication does.
            return PixelBuffer(self, orientation: .up)?.resized(to: target, orientation: orientation)
        }
    }
}

extension PixelBuffer {
    /// The pixels as rows, valid as long as the buffer is retained.
    package var rows: PixelRows {
        PixelRows(
            start: baseAddress,
            size: size,
            bytesPerRow: bytesPerRow,
            layout: hasAlpha ? .premultiplied : .rgb
        )
    }

    /// The image at another size and upright.
    /// - Returns: `nil` when there is no memory.
    package func resized(to target: PixelSize, orientation: ImageOrientation) -> PixelBuffer? {
        if target == size, orientation == .up { return self }
        return withExtendedLifetime(self) { rows.resized(to: target, orientation: orientation) }
    }

    /// The image with an orientation applied.
    package func oriented(_ orientation: ImageOrientation) -> PixelBuffer? {
        resized(to: size, orientation: orientation)
    }
}
