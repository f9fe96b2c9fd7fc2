import Foundation
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("file: URLs")
struct FileURLTests {
    private let folder = TemporaryDirectory()

    private func manager() -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        return ImageManager(configuration: configuration)
    }

    @Test("A file loads whose name is not UTF-8, as the names of older systems are")
    func latin1() async throws {
        let size = PixelSize(width: 5, height: 4)
        let path = Array(folder.path.utf8CString.dropLast()) + [0x2F, CChar(bitPattern: 0xFF), 0x2E, 0x70, 0]
        let file = try #require(fopen(path, "w"))
        let data = TestImage.solid(1, size: size)
        _ = data.withUnsafeBytes { fwrite($0.baseAddress, 1, data.count, file) }
        fclose(file)
        let url = try #require(URL(string: "file://\(folder.path)/%FF.p"))
        #expect(try await manager().image(for: url).pixelSize == size)
    }

    @Test(
        "A path that would be cut off, or a directory, fails with a typed error",
        arguments: ["%00", "a%00b", "", "%"]
    )
    func odd(name: String) async throws {
        let url = try #require(URL(string: "file://\(folder.path)/\(name)"))
        await #expect(throws: ImageError.self) { try await manager().image(for: url) }
    }

    @Test("Files that hang do not keep the images of servers from loading")
    func hanging() async throws {
        let gate = Gate()
        gate.close()
        defer { gate.open() }
        let files = WorkQueue(name: "files", threadCount: 2)
        let hanging = LocalLoader(scheme: "file", queue: files) { _ throws(ImageError) in
            gate.wait()
            return LoaderResult(data: Data())
        }
        let data = TestImage.solid(1, size: PixelSize(width: 5, height: 4))
        let server = try LocalImageServer { _ in .ok(data, contentType: "image/png") }
        var configuration = ImageManager.Configuration()
        configuration.diskCache = .init(directory: folder.path)
        configuration.loaders = [hanging]
        let manager = ImageManager(configuration: configuration)
        let tasks = (0..<4).map { manager.load(URL(filePath: "/hangs/\($0)"), on: InlineDispatcher()) { _ in } }
        #expect(try await manager.image(for: server.url("/a")).pixelSize.width == 5)
        let inline = try #require(URL(string: "data:image/png;base64,\(data.base64EncodedString())"))
        #expect(try await manager.image(for: inline).pixelSize.width == 5)
        for task in tasks { task.cancel() }
    }
}
