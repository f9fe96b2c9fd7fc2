internal import CWebImageWebP
import FoundationEssentials
import WebImageCore

/// The frames of an animated WebP file, as libwebpdemux finds them.
struct WebPFile: Sendable {
    struct Frame: Sendable {
        let layout: FrameLayout
        /// The position of the compressed pixels in the file.
        let part: Range<Int>
    }

    let size: PixelSize
    let frames: [Frame]
    /// The number of loops; 0 means endless.
    let loopCount: Int
    /// Whether the file is shorter than its stated length, or ends within a chunk.
    let isTruncated: Bool

    /// - Parameter frameLimit: The number of frames to read.
    /// - Returns: `nil` if there are no frames.
    init?(_ data: Data, frameLimit: Int) {
        let found: (PixelSize, [Frame], Int, Bool)? = data.withUnsafeBytes { bytes in
            var input = WebPData(bytes: bytes.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
            var state = WEBP_DEMUX_DONE
            // The partial demuxer finds the complete frames of an arriving file.
            guard let demuxer = WebPDemuxPartial(&input, &state) else { return nil }
            defer { WebPDemuxDelete(demuxer) }
            let size = PixelSize(
                width: Int(WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH)),
                height: Int(WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT))
            )
            var iterator = WebPIterator()
            defer { WebPDemuxReleaseIterator(&iterator) }
            var frames: [Frame] = []
            var isThere = WebPDemuxGetFrame(demuxer, 1, &iterator) != 0
            while isThere, frames.count < frameLimit, let frame = Frame(iterator, in: bytes, size) {
                frames.append(frame)
                isThere = WebPDemuxNextFrame(&iterator) != 0
            }
            let isTruncated = state == WEBP_DEMUX_PARSING_HEADER || state == WEBP_DEMUX_PARSED_HEADER
            return (size, frames, Int(WebPDemuxGetI(demuxer, WEBP_FF_LOOP_COUNT)), isTruncated)
        }
        guard let found, !found.1.isEmpty else { return nil }
        (size, frames, loopCount, isTruncated) = found
    }
}

extension WebPFile.Frame {
    /// - Returns: `nil` for an incomplete frame.
    fileprivate init?(_ iterator: WebPIterator, in bytes: UnsafeRawBufferPointer, _ canvas: PixelSize) {
        guard iterator.complete != 0, let start = iterator.fragment.bytes else { return nil }
        let offset = UnsafeRawPointer(start) - bytes.baseAddress!
        part = offset..<offset + iterator.fragment.size
        layout = FrameLayout(
            rect: PixelRect(
                x: Int(iterator.x_offset),
                y: Int(iterator.y_offset),
                width: Int(iterator.width),
                height: Int(iterator.height)
            ),
            duration: .milliseconds(Int(iterator.duration)),
            disposal: iterator.dispose_method == WEBP_MUX_DISPOSE_BACKGROUND ? .clear : .keep,
            isBlended: iterator.blend_method == WEBP_MUX_BLEND,
            hasAlpha: iterator.has_alpha != 0
        )
        guard layout.rect.isInside(canvas) else { return nil }
    }
}
