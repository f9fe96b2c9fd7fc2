import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageFormats
@testable import WebImageLinux

/// Formats that gdk-pixbuf has a loader for, whether the library knows them or not.
@Suite("Formats that are installed", .blocking, .serialized)
struct InstalledFormatTests {
    private let folder = TemporaryDirectory()
    private static let size = PixelSize(width: 9, height: 5)

    /// Nine columns of which the first is black, in five rows.
    private static func bitmap(width: Int = 9, comment: String = "", rows: Int = 5) -> Data {
        let bytes = (0..<rows).map { _ in "0x01, 0x00" }.joined(separator: ", ")
        let text = """
            \(comment)#define dot_width \(width)
            #define dot_height 5
            static char dot_bits[] = {
            \(bytes) };

            """
        return Data(text.utf8)
    }

    private static func atom(_ name: String, _ contents: Data) -> Data {
        var length = UInt32(contents.count + 8).bigEndian
        return Data(bytes: &length, count: 4) + Data(name.utf8) + contents
    }

    private static let xbm = ImageFormat(rawValue: "image/x-xbitmap")
    private static let qtif = ImageFormat(rawValue: "image/x-quicktime")
    private static let files: [(format: ImageFormat, data: Data)] = [
        (xbm, bitmap()), (xbm, bitmap(comment: "/* A dot. */\n")),
        (qtif, atom("idat", TestImage.solid(0xFF0000, size: size))),
        (qtif, atom("idsc", Data(count: 40)) + atom("idat", TestImage.solid(0xFF0000, size: size, format: .jpeg))),
        (
            ImageFormat(rawValue: "image/x-portable-anymap"),
            Data("P3 9 5 255\n".utf8) + Data(String(repeating: "255 0 0 ", count: 45).utf8)
        ),
        (
            ImageFormat(rawValue: "image/x-tga"),
            Data([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 5, 0, 24, 0])
                + Data((0..<45).flatMap { _ in [0, 0, 255] as [UInt8] })
        ),
    ]

    @Test("Rare formats are recognised by their first bytes and decoded without a hint", arguments: 0..<6)
    func known(index: Int) throws {
        let file = Self.files[index]
        #expect(ImageFormat(sniffing: file.data) == .unknown)
        guard PixbufCoder().canDecode(file.format) else { return }
        let image = try CoderRegistry.builtIn.decode(file.data)
        #expect(image.format == file.format && image.pixelSize == Self.size)
        #expect(image.color(0, 0).isClose(to: file.format == Self.xbm ? 0 : 0xFF0000))
    }

    @Test("They are not loaded from the network unless the app allows it", arguments: 0..<6)
    func network(index: Int) async throws {
        let file = Self.files[index]
        let server = try LocalImageServer { _ in .ok(file.data, contentType: "image/png") }
        let url = server.url("/a")
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        let error = await failure(ImageManager(configuration: configuration), url)
        // gdk-pixbuf with glycin has no loader of QTIF.
        guard PixbufCoder().canDecode(file.format) else {
            #expect(error?.code == .badImageData)
            return
        }
        #expect(error?.code == .formatNotAllowed && error?.remedy.contains("\"\(file.format.rawValue)\"") == true)
        configuration.formats.network.insert(file.format)
        #expect(await failure(ImageManager(configuration: configuration), url) == nil)
    }

    @Test("Damaged ones, and those that claim more pixels than they have, are refused")
    func hostile() {
        for file in [
            Self.bitmap(width: 2_000_000_000), Self.bitmap(rows: 1), Self.bitmap().prefix(40),
            Data("#define a_width 99999999999999999999\n".utf8), Data([0, 0, 0, 0]) + Data("idat".utf8),
            Data([255, 255, 255, 255]) + Data("idat".utf8), Data("P6\n-1 3\n255\nabc".utf8),
        ] {
            let error = thrownError { try CoderRegistry.builtIn.decode(Data(file)) }
            #expect(
                error?.code == .badImageData,
                "\(String(decoding: file.prefix(60), as: UTF8.self)) \(error as Any)"
            )
        }
        // The size counts before the loader takes memory for the pixels.
        let error = thrownError { try CoderRegistry.builtIn.decode(Data("P6\n100000 100000\n255\n".utf8)) }
        let isInstalled = PixbufCoder().canDecode(ImageFormat(rawValue: "image/x-portable-anymap"))
        #expect(error?.code == (isInstalled ? .imageTooLarge : .badImageData))
    }

    @Test("A format that only a loader of this machine knows is shown from files, and names itself by its media type")
    func foreign() throws {
        // Given a loader of another program, for files that begin with DOT!
        let loader = try ForeignLoader(in: folder.path)
        let file = "\(folder.path)/a.unknown"
        // When such a file is loaded without a hint
        try loader.file(width: 30, height: 20).write(to: URL(filePath: file))
        // Then it shows
        #expect(try loader.decode(file).hasPrefix("image of 30x20"))
        // A truncated one does not
        try loader.file(width: 30, height: 20).prefix(7).write(to: URL(filePath: file))
        #expect(try loader.decode(file).contains("The dot is cut"))
        // Nor one whose size is found out to be too large before the loader takes memory for it
        try loader.file(width: 60_000, height: 60_000).write(to: URL(filePath: file))
        #expect(try loader.decode(file).contains("more than the limit"))
        // Nor what no loader recognises.
        try Data("DOT?".utf8).write(to: URL(filePath: file))
        #expect(try loader.decode(file).contains("of no known image format"))
    }

    @Test("From the network, such a format has to be allowed by its media type")
    func foreignNetwork() async throws {
        struct Installed: ExtendedDecoding {
            func canDecode(_ format: ImageFormat) -> Bool { false }
            func canDecode(_ head: Data, format: ImageFormat) -> Bool { installedFormat(head, as: format) != nil }
            func installedFormat(_ head: Data, as format: ImageFormat) -> ImageFormat? {
                head.starts(with: Array("DOT!".utf8)) ? ImageFormat(rawValue: "image/x-dot") : nil
            }
            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                WebImage(pixels: PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }!)
            }
        }
        let url = try #require(URL(string: "data:image/png;base64,\(Data("DOT!1".utf8).base64EncodedString())"))
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.decoders = [Installed()]
        let error = await failure(ImageManager(configuration: configuration), url)
        #expect(error?.code == .formatNotAllowed && error?.reason.contains("image/x-dot") == true)
        #expect(error?.remedy.contains("ImageFormat(rawValue: \"image/x-dot\")") == true)
        configuration.formats.network.insert(ImageFormat(rawValue: "image/x-dot"))
        #expect(await failure(ImageManager(configuration: configuration), url) == nil)
        configuration.formats.local = [.png]
        let file = URL(filePath: "\(folder.path)/a.dot")
        try Data("DOT!1".utf8).write(to: file)
        #expect(await failure(ImageManager(configuration: configuration), file)?.code == .formatNotAllowed)
    }

    private func failure(_ manager: ImageManager, _ url: URL) async -> ImageError? {
        do throws(ImageError) {
            _ = try await manager.image(for: url)
            return nil
        } catch {
            return error
        }
    }
}

/// A loader of gdk-pixbuf for a format that nothing else has, in processes of its own.
private struct ForeignLoader {
    private let list: String

    init(in folder: String) throws {
        let (source, module) = ("\(folder)/dot.c", "\(folder)/libpixbufloader-dot.so")
        list = "\(folder)/loaders.cache"
        try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
        let command = "cc -shared -fPIC -o '\(module)' '\(source)' $(pkg-config --cflags --libs gdk-pixbuf-2.0)"
        let result = try ChildProcess.run("/bin/sh", ["-c", command])
        try #require(result.exitCode == 0, "\(result.output)")
        let entry = """
            "\(module)"
            "dot" 4 "test" "Dots" "LGPL"
            "image/x-Dot" ""
            "dot" ""
            "DOT!" "" 100


            """
        try entry.write(toFile: list, atomically: true, encoding: .utf8)
    }

    func file(width: UInt16, height: UInt16) -> Data {
        Data("DOT!".utf8) + [UInt8(width >> 8), UInt8(width & 255), UInt8(height >> 8), UInt8(height & 255), 255, 0, 0]
    }

    /// What DecodeWorker says of a file.
    func decode(_ file: String) throws -> String {
        let command = "GDK_PIXBUF_MODULE_FILE='\(list)' '\(BuiltProgram.path("DecodeWorker"))' '\(file)' whole"
        return try ChildProcess.run("/bin/sh", ["-c", command]).output
    }

    private static let source = """
        #define GDK_PIXBUF_ENABLE_BACKEND
        #include <gdk-pixbuf/gdk-pixbuf.h>
        typedef struct {
            GdkPixbufModuleSizeFunc size;
            GdkPixbufModulePreparedFunc prepared;
            gpointer data;
            GByteArray *bytes;
        } Load;
        static gpointer begin(GdkPixbufModuleSizeFunc size, GdkPixbufModulePreparedFunc prepared,
                              GdkPixbufModuleUpdatedFunc updated, gpointer data, GError **error) {
            Load *load = g_new0(Load, 1);
            load->size = size, load->prepared = prepared, load->data = data;
            load->bytes = g_byte_array_new();
            return load;
        }
        static gboolean increment(gpointer context, const guchar *bytes, guint count, GError **error) {
            g_byte_array_append(((Load *)context)->bytes, bytes, count);
            return TRUE;
        }
        static gboolean stop(gpointer context, GError **error) {
            Load *load = context;
            const guchar *b = load->bytes->data;
            gboolean is_whole = load->bytes->len >= 11;
            int width = is_whole ? b[4] << 8 | b[5] : 0, height = is_whole ? b[6] << 8 | b[7] : 0;
            if (is_whole) load->size(&width, &height, load->data);
            if (width > 0 && height > 0) {
                GdkPixbuf *pixbuf = gdk_pixbuf_new(GDK_COLORSPACE_RGB, FALSE, 8, width, height);
                gdk_pixbuf_fill(pixbuf, (guint32)b[8] << 24 | b[9] << 16 | b[10] << 8 | 255);
                load->prepared(pixbuf, NULL, load->data);
                g_object_unref(pixbuf);
            } else {
                g_set_error_literal(error, GDK_PIXBUF_ERROR, GDK_PIXBUF_ERROR_CORRUPT_IMAGE, "The dot is cut");
            }
            g_byte_array_unref(load->bytes);
            g_free(load);
            return width > 0 && height > 0;
        }
        G_MODULE_EXPORT void fill_vtable(GdkPixbufModule *module) {
            module->begin_load = begin;
            module->load_increment = increment;
            module->stop_load = stop;
        }
        G_MODULE_EXPORT void fill_info(GdkPixbufFormat *info) {
            static GdkPixbufModulePattern signature[] = {{"DOT!", NULL, 100}, {NULL, NULL, 0}};
            static gchar *types[] = {"image/x-Dot", NULL}, *extensions[] = {"dot", NULL};
            info->name = "dot", info->signature = signature, info->description = "Dots";
            info->mime_types = types, info->extensions = extensions, info->flags = 0, info->license = "LGPL";
        }
        """
}
