import Foundation
import WebImageCore
import WebImageFormats
import WebImageLinux

// Passes the inputs of libFuzzer to all decoders, or to the target that GWI_FUZZ names. See Tests/fuzz.

/// The main function of libFuzzer, which calls back for each input.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

private let registry = CoderRegistry.builtIn

/// Larger images take time without finding more.
private let pixelLimit = 1 << 18

private func decode(_ data: Data) {
    _ = ImageHeader(reading: data)
    do throws(ImageError) {
        let image = try registry.decode(data, options: DecodeOptions(maximumPixelCount: pixelLimit))
        let decoder = image.animation?.makeDecoder()
        for index in 0..<min(image.frameCount, 6) { _ = try decoder?.frame(at: index) }
        if image.frameCount > 2 { _ = try decoder?.frame(at: 1) }
    } catch {}
    let format = ImageFormat(sniffing: data)
    let options = DecodeOptions(size: .contain(PixelSize(width: 20, height: 20)), maximumPixelCount: pixelLimit)
    guard let decoder = registry.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options) else {
        return
    }
    do throws(ImageError) {
        for offset in stride(from: 0, to: data.count, by: 333) {
            try decoder.append(Data(data.dropFirst(offset).prefix(333)))
            _ = decoder.partialImage()
        }
        _ = try decoder.finish(data)
    } catch {}
}

private let target: (Data) -> Void = {
    guard let name = ProcessInfo.processInfo.environment["GWI_FUZZ"] else { return decode }
    guard let target = FuzzTarget.all[name] else { fatalError("There is no target \(name)") }
    return target
}()

/// The entry point that libFuzzer's own main calls. It has to exist for the linker.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target(bytes.map { Data(bytes: $0, count: count) } ?? Data())
    return 0
}

// As in a worker, a drawing runs on the calling thread: LeakSanitizer does not see what a thread holds that is about to end.
LoaderWait.isUnlimited = true
var count = CommandLine.argc
var arguments = CommandLine.unsafeArgv
exit(
    runFuzzer(&count, &arguments) { testOneInput($0, $1) }
)
