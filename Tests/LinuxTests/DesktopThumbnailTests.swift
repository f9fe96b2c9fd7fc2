import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@testable import WebImageDesktop

/// The thumbnails are cyan where the images are red.
@Suite("Thumbnails that programs of the desktop share", .blocking, .serialized)
struct DesktopThumbnailTests {
    private let folder = TemporaryDirectory()
    private let thumbnails: DesktopThumbnails
    private let file: URL
    private let size = PixelSize(width: 640, height: 480)
    private let cyan: WebImage

    init() throws {
        thumbnails = DesktopThumbnails(directory: "\(folder.path)/thumbnails")
        file = URL(filePath: "\(folder.path)/my photo (1) ä.png")
        try TestImage.solid(0xFF0000, size: size).write(to: file)
        cyan = try CoderRegistry.builtIn.decode(
            TestImage.solid(0x00FFFF, size: PixelSize(width: 64, height: 48)),
            options: DecodeOptions()
        )
    }

    private func path(_ size: String = "large", of file: URL? = nil) throws -> String {
        let source = try #require(SourceFile(file ?? self.file))
        return "\(folder.path)/thumbnails/\(size)/\(source.fileName)"
    }

    /// A manager with one thread to read files and one to decode them, so that thumbnails and images come in their order.
    private func manager(hasThumbnails: Bool = true) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.decodingThreadCount = 1
        let files = LocalLoader.files(
            queue: WorkQueue(name: "test-files", threadCount: 1),
            maximumByteCount: 1 << 20,
            thumbnails: hasThumbnails ? thumbnails : nil
        )
        configuration.loaders = [files]
        return ImageManager(configuration: configuration)
    }

    private func load(
        _ request: ImageRequest,
        _ manager: ImageManager
    ) -> (partials: [WebImage], result: Result<ImageResponse, ImageError>?) {
        let (partials, results) = (EventLog<WebImage>(), EventLog<Result<ImageResponse, ImageError>>())
        manager.load(request, on: InlineDispatcher(), partial: { partials.add($0) }) { results.add($0) }
        #expect(results.wait { !$0.isEmpty })
        return (partials.all, results.all.first)
    }

    @Test("The name and the texts of a thumbnail are those of the standard")
    func names() throws {
        // The standard's own example
        #expect(SourceFile.fileName(ofURI: "file:///home/jens/photos/me.png") == "c6ee772d9e49320e97ec29a7eb5b1697.png")
        try thumbnails.store(cyan, for: file)
        let source = try #require(SourceFile(file))
        #expect(source.uri == "file://\(folder.path)/my%20photo%20(1)%20%C3%A4.png")
        let data = try Data(contentsOf: URL(filePath: try path()))
        let texts = PNGText.texts(in: data)
        #expect(texts["Thumb::URI"] == source.uri && texts["Thumb::Image::Width"] == "64")
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))
        let modified = try #require(attributes[.modificationDate] as? Date)
        #expect(texts["Thumb::MTime"] == "\(Int(modified.timeIntervalSince1970.rounded(.down)))")
        // Only the user may read it.
        let mode = try FileManager.default.attributesOfItem(atPath: try path())[.posixPermissions] as? Int
        let parent = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/thumbnails/large")
        #expect(mode == 0o600 && parent[.posixPermissions] as? Int == 0o700)
        // And every decoder reads it.
        #expect(try CoderRegistry.builtIn.decode(data, options: DecodeOptions()).pixelSize == cyan.pixelSize)
    }

    @Test("GLib finds the thumbnail of a file where it is stored", .enabled(if: ChildProcess.canRun("gio")))
    func foundByGLib() throws {
        try thumbnails.store(cyan, for: file)
        let result = try ChildProcess.run(
            "gio",
            ["info", "-a", "thumbnail::*", file.path(percentEncoded: false)],
            environment: ["XDG_CACHE_HOME": folder.path]
        )
        #expect(result.output.contains(try path()), "\(result.output)")
        #expect(!result.output.contains("is-valid: FALSE"), "\(result.output)")
    }

    @Test("A local file shows its thumbnail before it is decoded, at the size of the image")
    func partial() throws {
        try thumbnails.store(cyan, for: file)
        let manager = manager()
        let (partials, result) = load(ImageRequest(url: file, loading: .progressive), manager)
        let image = try #require(try result?.get().image)
        #expect(image.pixelSize == size && image.firstChannel > 192)
        // The thumbnail says that its image has 64x48 pixels; the file knows better only where the thumbnail is silent.
        let thumbnail = try #require(partials.first)
        #expect(thumbnail.firstChannel < 64 && thumbnail.isPartial)
        #expect(manager.cachedImage(for: file)?.firstChannel ?? 0 > 192)
    }

    @Test("An image as it is stored shows no thumbnail, since those are upright")
    func stored() throws {
        try thumbnails.store(cyan, for: file)
        var request = ImageRequest(url: file, loading: .progressive)
        request.appliesOrientation = false
        let (partials, result) = load(request, manager())
        #expect(partials.isEmpty)
        #expect(try #require(try result?.get().image).pixelSize == size)
    }

    @Test("A manager looks for thumbnails when its configuration has them")
    func configuration() throws {
        func hasThumbnails(_ change: (inout ImageManager.Configuration) -> Void) -> Bool? {
            var configuration = ImageManager.Configuration()
            configuration.diskCache = nil
            change(&configuration)
            return (ImageManager(configuration: configuration).loaders.loader(for: file) as? LocalLoader)?.hasThumbnails
        }
        #expect(hasThumbnails { _ in } == false)
        #expect(hasThumbnails { $0.desktopThumbnails = .standard } == true)
    }

    @Test("A thumbnail that does not say how large its image is has the size of the file")
    func sizeOfFile() throws {
        let source = try #require(SourceFile(file))
        let png = TestImage.solid(0x00FFFF, size: PixelSize(width: 256, height: 192))
        _ = try thumbnails.store(file: png, for: source, .large)
        let thumbnail = try #require(load(ImageRequest(url: file, loading: .progressive), manager()).partials.first)
        #expect(thumbnail.naturalSize == size && thumbnail.firstChannel < 64)
    }

    @Test(
        "It is not shown without progressive loading, to an app that wants none, and of a file that has changed since"
    )
    func notShown() throws {
        try thumbnails.store(cyan, for: file)
        #expect(load(ImageRequest(url: file), manager()).partials.isEmpty)
        let without = manager(hasThumbnails: false)
        #expect(load(ImageRequest(url: file, loading: .progressive), without).partials.isEmpty)
        let later = Date(timeIntervalSince1970: 2_000_000_000)
        try FileManager.default.setAttributes(
            [.modificationDate: later],
            ofItemAtPath: file.path(percentEncoded: false)
        )
        #expect(load(ImageRequest(url: file, loading: .progressive), manager()).partials.isEmpty)
        #expect(thumbnails.data(for: file) == nil)
    }

    @Test(
        "A thumbnail that is damaged, of another shape, larger than any, or of another file is not shown",
        arguments: ["empty", "text", "cut", "wide", "large", "other"]
    )
    func hostile(kind: String) throws {
        try thumbnails.store(cyan, for: file)
        let good = try Data(contentsOf: URL(filePath: try path()))
        let source = try #require(SourceFile(file))
        func named(_ width: Int, _ height: Int) -> Data {
            PNGText.adding(source.texts, to: TestImage.solid(0x00FFFF, size: PixelSize(width: width, height: height)))
        }
        let bytes: Data
        switch kind {
        case "empty": bytes = Data()
        case "text": bytes = Data("no image".utf8)
        case "cut": bytes = good.prefix(good.count / 2)
        case "wide": bytes = named(256, 64)
        case "large": bytes = named(1200, 900)
        default:
            let other = URL(filePath: "\(folder.path)/other.png")
            try TestImage.solid(0xFF0000, size: size).write(to: other)
            try thumbnails.store(cyan, for: other)
            bytes = try Data(contentsOf: URL(filePath: try path(of: other)))
        }
        try bytes.write(to: URL(filePath: try path()))
        let (partials, result) = load(ImageRequest(url: file, loading: .progressive), manager())
        #expect(partials.isEmpty)
        #expect(try result?.get().image.pixelSize == size)
    }

    @Test("The smallest thumbnail that suffices is taken, else the largest")
    func sizes() throws {
        for (size, pixels) in [(DesktopThumbnails.Size.normal, 128), (.extraLarge, 512)] {
            let source = try #require(SourceFile(file))
            let png = TestImage.solid(0x00FFFF, size: PixelSize(width: pixels, height: pixels * 3 / 4))
            _ = try thumbnails.store(file: png, for: source, size)
        }
        func width(_ size: DesktopThumbnails.Size) throws -> Int? {
            try thumbnails.data(for: file, size: size).map { data in
                try CoderRegistry.builtIn.decode(data, options: DecodeOptions()).pixelSize.width
            }
        }
        #expect(try DesktopThumbnails.Size.allCases.map { try width($0) } == [128, 512, 512, 512])
    }

    @Test("A request for a thumbnail loads the one that exists, else the image, and fails for other files")
    func request() throws {
        let manager = manager()
        let loader = ThumbnailLoader(
            thumbnails: thumbnails,
            thumbnailers: Thumbnailers(directories: []),
            size: .large,
            createsMissing: false
        )
        let whole = try load(ImageRequest(thumbnailOf: file, loader), manager).result?.get().image
        #expect(whole?.pixelSize == PixelSize(width: 640, height: 480))
        let text = URL(filePath: "\(folder.path)/a.txt")
        try Data("text".utf8).write(to: text)
        #expect(load(ImageRequest(thumbnailOf: text, loader), manager).result?.failure?.code == .unreadable)
        manager.cache.removeAllFromMemory()
        try thumbnails.store(cyan, for: file)
        manager.forgetAllFailures()
        #expect(
            try load(ImageRequest(thumbnailOf: file, loader), manager).result?.get().image.pixelSize == cyan.pixelSize
        )
    }

    @Test("A missing thumbnail of an image is made by the library, upright, and stored for all")
    func made() throws {
        let loader = ThumbnailLoader(
            thumbnails: thumbnails,
            thumbnailers: Thumbnailers(directories: []),
            size: .large,
            createsMissing: true
        )
        let image = try load(ImageRequest(thumbnailOf: file, loader), manager()).result?.get().image
        #expect(image?.pixelSize == PixelSize(width: 256, height: 192) && image?.firstChannel ?? 0 > 192)
        let texts = PNGText.texts(in: try #require(thumbnails.data(for: file)))
        #expect(texts["Thumb::Image::Width"] == "640" && texts["Thumb::Image::Height"] == "480")
        // No thumbnail is made of a thumbnail.
        let own = URL(filePath: try path())
        #expect(load(ImageRequest(thumbnailOf: own, loader), manager()).result?.failure?.code == .unreadable)
    }

    /// A thumbnailer that is a shell script.
    private func thumbnailer(_ script: String, timeLimit: Duration = .seconds(20)) throws -> (ThumbnailLoader, URL) {
        let directory = "\(folder.path)/thumbnailers"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try "[Thumbnailer Entry]\nExec=sh -c '\(script)' %i %o %s %% %u\nMimeType=video/mp4;application/pdf;\n".write(
            toFile: "\(directory)/test.thumbnailer",
            atomically: true,
            encoding: .utf8
        )
        let movie = URL(filePath: "\(folder.path)/a movie.mp4")
        let head = Data([0, 0, 0, 0x18]) + Data("ftypmp42".utf8) + Data(count: 12)
        // A file that is written anew is another one, which may be tried again.
        if !FileManager.default.fileExists(atPath: movie.path(percentEncoded: false)) {
            try (head + TestImage.solid(0x00FFFF, size: PixelSize(width: 64, height: 48))).write(to: movie)
        }
        let loader = ThumbnailLoader(
            thumbnails: thumbnails,
            thumbnailers: Thumbnailers(directories: [directory], timeLimit: timeLimit),
            size: .normal,
            createsMissing: true
        )
        return (loader, movie)
    }

    @Test("A missing thumbnail of a video is made by the thumbnailer of its type, once")
    func video() throws {
        // Given a thumbnailer that takes the image behind the first 24 bytes, and counts its runs
        let (loader, movie) = try thumbnailer("tail -c +25 \"$0\" > \"$1\"; test \"$2$3\" = \"128%%\"")
        let image = try load(ImageRequest(thumbnailOf: movie, loader), manager()).result?.get().image
        #expect(image?.pixelSize == PixelSize(width: 64, height: 48) && image?.firstChannel ?? 255 < 64)
        let texts = PNGText.texts(in: try #require(thumbnails.data(for: movie, size: .normal)))
        #expect(texts["Thumb::URI"] == SourceFile(movie)?.uri)
        // When the thumbnailer is gone, the stored one serves.
        try FileManager.default.removeItem(atPath: "\(folder.path)/thumbnailers")
        #expect(
            try load(ImageRequest(thumbnailOf: movie, loader), manager()).result?.get().image.pixelSize
                == image?.pixelSize
        )
    }

    @Test(
        "A thumbnailer that fails, or writes something else, is not asked again for this file",
        arguments: ["exit 1", "echo no image > \"$1\"", "true", "ln -s /etc/passwd \"$1\""]
    )
    func badThumbnailer(script: String) throws {
        let (loader, movie) = try thumbnailer(script)
        #expect(load(ImageRequest(thumbnailOf: movie, loader), manager()).result?.failure?.code == .unreadable)
        #expect(thumbnails.hasFailure(of: try #require(SourceFile(movie))))
        #expect(thumbnails.data(for: movie) == nil)
        // When the file changes, it is asked again.
        let later = Date(timeIntervalSince1970: 2_000_000_000)
        try FileManager.default.setAttributes(
            [.modificationDate: later],
            ofItemAtPath: movie.path(percentEncoded: false)
        )
        #expect(!thumbnails.hasFailure(of: try #require(SourceFile(movie))))
    }

    @Test(
        "A thumbnailer that is not there, cannot start, or is ended by a signal leaves no note on disk",
        arguments: ["sleep 600", "kill -9 $$", "exit 127", "exit 137", ""]
    )
    func unendedThumbnailer(script: String) throws {
        let (loader, movie) = try thumbnailer(script, timeLimit: .milliseconds(300))
        if script.isEmpty { try FileManager.default.removeItem(atPath: "\(folder.path)/thumbnailers") }
        #expect(load(ImageRequest(thumbnailOf: movie, loader), manager()).result?.failure?.code == .unreadable)
        #expect(!thumbnails.hasFailure(of: try #require(SourceFile(movie))))
        // Once it works, it makes the thumbnail in this process, unless it may take its time again.
        let (working, _) = try thumbnailer("tail -c +25 \"$0\" > \"$1\"")
        let isTried = ["exit 127", ""].contains(script)
        #expect((try? load(ImageRequest(thumbnailOf: movie, working), manager()).result?.get()) != nil || !isTried)
        #expect((thumbnails.data(for: movie) != nil) == isTried)
    }

    @Test("An image of the user that a thumbnailer links to does not become a thumbnail for all programs")
    func linkedOutput() throws {
        let secret = "\(folder.path)/secret.png"
        try TestImage.solid(0x00FFFF, size: PixelSize(width: 64, height: 48)).write(to: URL(filePath: secret))
        let (loader, movie) = try thumbnailer("ln -s \(secret) \"$1\"")
        #expect(load(ImageRequest(thumbnailOf: movie, loader), manager()).result?.failure?.code == .unreadable)
        #expect(thumbnails.data(for: movie) == nil)
        // Nor does one that has another name as well.
        let other = "\(folder.path)/other.png"
        try FileManager.default.linkItem(atPath: secret, toPath: other)
        #expect(throws: FileError.self) { try FileStore().readUnlinked(other, maximumByteCount: 1 << 20) }
        try FileManager.default.removeItem(atPath: other)
        #expect(try FileStore().readUnlinked(secret, maximumByteCount: 1 << 20).count > 0)
    }

    @Test(
        "A thumbnailer in a sandbox sees no other files",
        .enabled(if: ThumbnailerCommand.sandbox != nil, "bubblewrap is not installed (Debian: bubblewrap).")
    )
    func sandbox() throws {
        let secret = "\(folder.path)/secret"
        try "secret".write(toFile: secret, atomically: true, encoding: .utf8)
        let script = "test ! -e \(secret) && test ! -e /home && test ! -e /etc/passwd && tail -c +25 \"$0\" > \"$1\""
        let (loader, movie) = try thumbnailer(script)
        #expect(
            try load(ImageRequest(thumbnailOf: movie, loader), manager()).result?.get().image.firstChannel ?? 255 < 64
        )
    }

    @Test(
        "An installed thumbnailer makes thumbnails of files that the library does not recognise",
        .enabled(if: ChildProcess.canRun("gdk-pixbuf-thumbnailer"), "gdk-pixbuf-thumbnailer is not installed.")
    )
    func installed() throws {
        // Given a TGA of 300x2 cyan pixels, which has no signature
        let header: [UInt8] = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 44, 1, 2, 0, 24, 0]
        let picture = URL(filePath: "\(folder.path)/image.tga")
        try Data(header + (0..<600).flatMap { _ in [255, 255, 0] as [UInt8] }).write(to: picture)
        let loader = ThumbnailLoader(
            thumbnails: thumbnails,
            thumbnailers: .standard,
            size: .normal,
            createsMissing: true
        )
        let image = try load(ImageRequest(thumbnailOf: picture, loader), manager()).result?.get().image
        #expect(image?.pixelSize == PixelSize(width: 128, height: 1) && image?.firstChannel ?? 255 < 64)
    }

    @Test("A cancelled load ends its thumbnailer")
    func cancelled() throws {
        let (loader, movie) = try thumbnailer("sleep 600")
        let manager = manager()
        let results = EventLog<Result<ImageResponse, ImageError>>()
        let task = manager.load(ImageRequest(thumbnailOf: movie, loader), on: InlineDispatcher()) { results.add($0) }
        #expect(EventLog<Int>.poll { manager.activeCounts.fetches == 1 })
        task.cancel()
        #expect(results.wait { $0.first?.failure?.code == .cancelled })
        #expect(!thumbnails.hasFailure(of: try #require(SourceFile(movie))))
        #expect(EventLog<Int>.poll { ThumbnailLoader.queue.pendingCount == 0 }, "the program runs on")
    }
}

extension ChildProcess {
    /// Whether a program is installed.
    fileprivate static func canRun(_ program: String) -> Bool {
        (try? run("sh", ["-c", "command -v \(program)"]))?.exitCode == 0
    }
}

extension WebImage {
    fileprivate var firstChannel: UInt8 { pixels.withUnsafeBytes { $0[0] } }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
