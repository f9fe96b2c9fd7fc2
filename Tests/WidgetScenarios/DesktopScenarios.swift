internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

/// What a content provider writes as a media type.
@MainActor
private func written(_ provider: UnsafeMutablePointer<GdkContentProvider>, _ mediaType: String) -> Data? {
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
        Scenario("An image is copied as its file and as a texture, which another widget of the app can paste") {
            let stage = try Stage()
            var request = ImageRequest(url: stage.url(0xFF0000, type: "jpg"))
            request.includesData = true
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: request, manager: stage.manager, completion: stage.completion)
            stage.waitForResults(1)
            let response = try stage.results[0].get()
            let address = response.image.makeContentProvider(data: response.data)
            defer { g_object_unref(UnsafeMutableRawPointer(address)) }
            let provider = UnsafeMutablePointer<GdkContentProvider>(address)
            let formats = gdk_content_provider_ref_formats(provider)
            expect(gdk_content_formats_contain_mime_type(formats, "image/jpeg") != 0)
            expect(gdk_content_formats_contain_gtype(formats, gdk_texture_get_type()) != 0)
            gdk_content_formats_unref(formats)
            expectEqual(written(provider, "image/jpeg"), response.data)

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
            expectEqual(pasted?.pixelSize, response.image.pixelSize)
            if let texture = answer.texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
            // Without bytes, or with those of no image, there is the texture alone.
            for data in [nil, Data("no image".utf8)] {
                let plain = response.image.makeContentProvider(data: data)
                let formats = gdk_content_provider_ref_formats(UnsafeMutablePointer<GdkContentProvider>(plain))
                expect(gdk_content_formats_contain_gtype(formats, gdk_texture_get_type()) != 0)
                expect(gdk_content_formats_contain_mime_type(formats, "image/jpeg") == 0)
                gdk_content_formats_unref(formats)
                g_object_unref(UnsafeMutableRawPointer(plain))
            }
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
