extension PixelRows {
    /// The image at another size, turned upright.
    /// - Parameters:
    ///   - target: The size before it is turned.
    ///   - orientation: How it is turned afterwards.
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
            // A mean of colours has to be weighed by their alpha.
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

    /// The image at another size, turned upright.
    /// - Returns: `nil` when there is no memory.
    package func resized(to target: PixelSize, orientation: ImageOrientation) -> PixelBuffer? {
        if target == size, orientation == .up { return self }
        return withExtendedLifetime(self) { rows.resized(to: target, orientation: orientation) }
    }

    /// The image turned upright.
    package func oriented(_ orientation: ImageOrientation) -> PixelBuffer? {
        resized(to: size, orientation: orientation)
    }
}
