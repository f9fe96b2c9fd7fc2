import FoundationEssentials
import WebImageCore

/// The work of a decode worker. It answers the commands of the app, one at a time, and keeps arriving files and running
/// animations.
final class DecodeSession {
    typealias Pixels = (PixelBuffer, durations: [Int64])

    private let coders: CoderRegistry
    private var arriving: [UInt64: any IncrementalImageDecoding] = [:]
    private var animations: [UInt64: WorkerAnimation] = [:]

    init(coders: CoderRegistry) { self.coders = coders }

    /// - Parameter data: The bytes that came with the command.
    /// - Returns: `nil` if the command has no answer.
    func answer(_ command: DecodeCommand, _ data: Data) -> (DecodeAnswer, Pixels?)? {
        do throws(ImageError) {
            switch command.kind {
            case .decode: return describe(try coder(for: data, command).decode(data, options: command.options))
            case .region:
                let coder = try coder(for: data, command)
                // The app ends a worker if it no longer wants the image.
                return describe(try coder.decode(command.region, of: data, options: command.options) { false })
            case .thumbnail:
                let coder = try? coder(for: data, command)
                return coder?.thumbnail(in: data, options: command.options).map(describe) ?? (.done, nil)
            case .begin: return (begin(command) ? .done : .unknown, nil)
            case .append: return (try append(data, command) ? .done : .unknown, nil)
            case .partialImage: return partialImage(command)
            case .finish: return try finish(data, command)
            case .frame: return try frame(data, command)
            case .close:
                arriving[command.handle] = nil
                animations[command.handle] = nil
                return nil
            }
        } catch {
            return (.failure(error), nil)
        }
    }

    private func coder(for data: Data, _ command: DecodeCommand) throws(ImageError) -> any ExtendedDecoding {
        try coders.decoder(for: data, url: nil, hint: command.options.formatHint)
    }

    private func begin(_ command: DecodeCommand) -> Bool {
        let decoder = coders.decoder(for: command.format)?
            .makeIncrementalDecoder(for: command.format, options: command.options)
        arriving[command.handle] = decoder
        return decoder != nil
    }

    private func append(_ data: Data, _ command: DecodeCommand) throws(ImageError) -> Bool {
        guard let decoder = arriving[command.handle] else { return false }
        do throws(ImageError) {
            try decoder.append(data)
        } catch {
            arriving[command.handle] = nil
            throw error
        }
        return true
    }

    private func partialImage(_ command: DecodeCommand) -> (DecodeAnswer, Pixels?) {
        guard let decoder = arriving[command.handle] else { return (.unknown, nil) }
        return decoder.partialImage().map(describe) ?? (.done, nil)
    }

    private func finish(_ data: Data, _ command: DecodeCommand) throws(ImageError) -> (DecodeAnswer, Pixels?) {
        guard let decoder = arriving.removeValue(forKey: command.handle) else { return (.unknown, nil) }
        return describe(try decoder.finish(data))
    }

    private func frame(_ data: Data, _ command: DecodeCommand) throws(ImageError) -> (DecodeAnswer, Pixels?) {
        let isAll = command.offset == 0 && command.byteCount != nil
        // The last part of an arriving file is the whole file if both processes map it.
        if isAll, command.isArriving || animations[command.handle] == nil {
            animations[command.handle] = WorkerAnimation(command, coders)
        }
        guard let animation = animations[command.handle], isAll || animation.byteCount == command.offset else {
            return (.unknown, nil)
        }
        do throws(ImageError) {
            if !animation.isWhole { try animation.append(data, isAll: isAll, isArriving: command.isArriving) }
            guard let frames = animation.frames else {
                throw command.options.badData("The file has one frame, so there is no frame \(command.index)")
            }
            // A decode that takes long stops on the way, because other animations wait for the worker.
            let start = ContinuousClock.now
            let (reached, pixels) = try frames.frame(towards: command.index) {
                ContinuousClock.now - start >= FrameBuffer.longestStep
            }
            return (.frame(index: reached, PixelDescription(pixels)), (pixels, []))
        } catch {
            if animation.isBroken { animations[command.handle] = nil }
            throw error
        }
    }

    private func describe(_ image: WebImage) -> (DecodeAnswer, Pixels?) {
        let durations =
            image.content.animation?.durations.flatMap { [$0.components.seconds, $0.components.attoseconds] } ?? []
        return (.image(ImageDescription(image)), (image.content.pixels, durations))
    }
}
