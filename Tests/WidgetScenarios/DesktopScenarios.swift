internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageDesktop
import WebImageTesting

/// What a content provider writes as a media type.
@MainActor
func written(_ provider: UnsafeMutablePointer<GdkContentProvider>, _ mediaType: String) -> Data? {
    let stream = g_memory_output_stream_new_resizable()!
    defer { g_object_unref(UnsafeMutableRawPointer(stream)) }
    final class Answer { var isDone = false }
    let answer = Answer()
    gdk_content_provider_write_mime_type_async(
        provider,
        mediaType,
        UnsafeMutableRawPointer(stream).assumingMemoryBound(to: GOutputStream.self),
        0,
        nil,
        { source, result, context in
            _ = gdk_content_provider_write_mime_type_finish(
                UnsafeMutableRawPointer(source!).assumingMemoryBound(to: GdkContentProvider.self),
                result,
                nil
            )
            Unmanaged<Answer>.fromOpaque(context!).takeUnretainedValue().isDone = true
        },
        Unmanaged.passUnretained(answer).toOpaque()
    )
    guard MainLoopPump.run(until: { answer.isDone }) else { return nil }
    let memory = UnsafeMutableRawPointer(stream).assumingMemoryBound(to: GMemoryOutputStream.self)
    let count = Int(g_memory_output_stream_get_data_size(memory))
    return g_memory_output_stream_get_data(memory).map { Data(bytes: $0, count: count) }
}

extension Scenario {
    static let desktop: [Scenario] = [
        Scenario("An image is copied as its file, which is loaded when it is pasted, or as a PNG of all its pixels") {
            let stage = try Stage()
            let url = stage.url(0xFF0000, type: "jpg")
            let address = stage.manager.makeContentProvider(for: url, format: .jpeg)
            defer { g_object_unref(UnsafeMutableRawPointer(address)) }
            let provider = UnsafeMutablePointer<GdkContentProvider>(address)
            let formats = gdk_content_provider_ref_formats(provider)
            for type in ["image/jpeg", "image/png"] {
                expect(gdk_content_formats_contain_mime_type(formats, type) != 0)
            }
            gdk_content_formats_unref(formats)
            expectEqual(stage.server.requests.count, 0)
            final class Loaded { var data: Data? }
            let loaded = Loaded()
            expect(written(provider, "image/jpeg") != nil)
            Task { @MainActor in loaded.data = try? await stage.manager.data(for: url) }
            expect(MainLoopPump.run(until: { loaded.data != nil }))
            expectEqual(written(provider, "image/jpeg"), loaded.data)
            let png = written(provider, "image/png")
            expectEqual(png.map { ImageFormat(sniffing: $0) }, .png)
            // Another widget of the app pastes it as a texture
            let clipboard = gtk_widget_get_clipboard(stage.window)
            expect(gdk_clipboard_set_content(clipboard, provider) != 0)
            final class Answer { var texture: OpaquePointer? }
            let answer = Answer()
            gdk_clipboard_read_texture_async(
                clipboard,
                nil,
                { source, result, context in
                    let texture = gdk_clipboard_read_texture_finish(OpaquePointer(source), result, nil)
                    Unmanaged<Answer>.fromOpaque(context!).takeUnretainedValue().texture = texture
                },
                Unmanaged.passUnretained(answer).toOpaque()
            )
            expect(MainLoopPump.run(until: { answer.texture != nil }))
            let pasted = answer.texture.flatMap { WebImage(texture: $0) }
            expect(pasted?.pixelSize.isEmpty == false)
            if let texture = answer.texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
            // And a file that cannot be loaded is an error
            let missing = stage.manager.makeContentProvider(for: stage.server.url("/missing"), format: .jpeg)
            expect(written(UnsafeMutablePointer<GdkContentProvider>(missing), "image/jpeg")?.isEmpty != false)
            g_object_unref(UnsafeMutableRawPointer(missing))
        },

        Scenario("An image of the app is copied as a texture") {
            let image = WebImage(pixels: PixelBuffer(size: PixelSize(width: 2, height: 2), format: .rgb) { $0[0] = 1 }!)
            let provider = image.makeContentProvider()
            let formats = gdk_content_provider_ref_formats(UnsafeMutablePointer<GdkContentProvider>(provider))
            expect(gdk_content_formats_contain_gtype(formats, gdk_texture_get_type()) != 0)
            gdk_content_formats_unref(formats)
            g_object_unref(UnsafeMutableRawPointer(provider))
        },

        Scenario("A URL becomes the icon of a notification, which travels to another process") {
            let stage = try Stage()
            final class Answer { var icon: OpaquePointer? }
            let answer = Answer()
            let (manager, url) = (stage.manager, stage.url(0x00FF00, "400x300"))
            Task { @MainActor in answer.icon = try? await manager.makeIcon(for: url, longestSide: 96) }
            expect(MainLoopPump.run(until: { answer.icon != nil }))
            guard let icon = answer.icon else { return }
            defer { g_object_unref(UnsafeMutableRawPointer(icon)) }
            // Given what D-Bus sends
            let serialized = g_icon_serialize(icon)
            expect(serialized != nil)
            defer { g_variant_unref(serialized) }
            let received = g_icon_deserialize(serialized)
            defer { g_object_unref(UnsafeMutableRawPointer(received)) }
            let stream = g_loadable_icon_load(received, 96, nil, nil, nil)
            defer { g_object_unref(stream) }
            let pixbuf = gdk_pixbuf_new_from_stream(stream, nil, nil)
            let image = pixbuf.flatMap { WebImage(pixbuf: $0) }
            if let pixbuf { g_object_unref(UnsafeMutableRawPointer(pixbuf)) }
            expectEqual(image?.pixelSize, PixelSize(width: 96, height: 72))
            expectEqual(image?.color, 0x00FF00)
            // And a URL without an image throws.
            var failure: ImageError?
            Task { @MainActor in
                do throws(ImageError) { _ = try await manager.makeIcon(for: stage.server.url("/missing")) } catch {
                    failure = error
                }
            }
            expect(MainLoopPump.run(until: { failure != nil }))
        },

        Scenario("The icon of a large image is made while the main thread does something else") {
            let stage = try Stage()
            final class Answer { var icon: OpaquePointer? }
            let answer = Answer()
            let (manager, url) = (stage.manager, stage.url(0x00FF00, "3000x2000"))
            var image: WebImage?
            Task { @MainActor in image = try? await manager.image(for: url) }
            expect(MainLoopPump.run(until: { image != nil }))
            // Given how long making it takes
            let start = threadTime()
            if let icon = try image?.makeIcon(longestSide: 3000) { g_object_unref(UnsafeMutableRawPointer(icon)) }
            let ownTime = threadTime() - start
            // When it is made for a URL, then the main thread spends much less.
            let before = threadTime()
            Task { @MainActor in answer.icon = try? await manager.makeIcon(for: url, longestSide: 3000) }
            expect(MainLoopPump.run(until: { answer.icon != nil }))
            let mainTime = threadTime() - before
            expect(mainTime < ownTime / 2, "\(mainTime) of \(ownTime)")
            if let icon = answer.icon { g_object_unref(UnsafeMutableRawPointer(icon)) }
        },
    ]
}
