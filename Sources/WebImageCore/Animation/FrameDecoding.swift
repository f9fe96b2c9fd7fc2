/// Decodes the frames of one animation, each put together with those before it. Used by one thread at a time, not the
/// main thread.
public protocol FrameDecoding: AnyObject, Sendable {
    /// A whole frame, upright, at the size of the animation.
    ///
    /// One frame after the other costs one frame each; going back, or far ahead, may decode others on the way.
    /// - Parameter index: From 0 to the animation's number of frames, exclusive.
    /// - Throws: ImageError/Code/badImageData when the frame is damaged. An animation ends before such a frame.
    func frame(at index: Int) throws(ImageError) -> PixelBuffer
}
