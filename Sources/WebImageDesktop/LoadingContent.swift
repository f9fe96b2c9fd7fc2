internal import CWebImageGLib
internal import CWebImageGtk4
import FoundationEssentials
public import WebImageCore
import WebImageLinux

extension ImageManager {
    /// Returns a GdkContentProvider of an image, for copying (`gdk_clipboard_set_content`) or dragging it out
    /// (`gtk_drag_source_set_content`). The caller owns the reference (g_object_unref). Main thread.
    ///
    ///     let content = ImageManager.shared.makeContentProvider(for: url, format: picture.currentImage?.format)
    ///
    /// The image is loaded when another program requests it: the bytes of the file, or all its pixels as a PNG, even if a widget
    /// shows fewer. If the load fails, that program receives the text of the error (`G_IO_ERROR_FAILED`).
    /// - Parameters:
    ///   - request: A URL or an ImageRequest. Its transformer applies only to the PNG.
    ///   - format: The format of the file, if known. Default: only a PNG is offered.
    @preconcurrency @MainActor
    public func makeContentProvider(
        for request: some ImageRequestConvertible,
        format: ImageFormat? = nil
    ) -> OpaquePointer {
        var request = request.imageRequest
        request.decodeSize = .original
        let types = (format?.descriptor?.mediaTypes.first.map { [$0] } ?? []) + ["image/png"]
        return LoadingContent(self, request, types).makeProvider()
    }
}

/// The contents of a GdkContentProvider that loads its image on demand.
@MainActor
private final class LoadingContent {
    private let manager: ImageManager
    private let request: ImageRequest
    private let mediaTypes: [String]

    init(_ manager: ImageManager, _ request: ImageRequest, _ mediaTypes: [String]) {
        (self.manager, self.request, self.mediaTypes) = (manager, request, mediaTypes)
    }

    private static let key = "gwi-content"

    /// The GObject class of the providers.
    private static let type: GType = {
        var parent = GTypeQuery()
        g_type_query(gdk_content_provider_get_type(), &parent)
        let setUp: GClassInitFunc = { address, _ in
            let table = address!.assumingMemoryBound(to: GdkContentProviderClass.self)
            table.pointee.ref_formats = { provider in
                let types = LoadingContent.of(provider!) { UInt(bitPattern: $0.makeFormats()) }
                return OpaquePointer(bitPattern: types)
            }
            table.pointee.write_mime_type_async = { provider, type, stream, priority, cancellable, callback, context in
                let task = GObjectBox(
                    adopting: UnsafeMutableRawPointer(g_task_new(provider, cancellable, callback, context))
                )
                g_task_set_priority(OpaquePointer(task.pointer), priority)
                let (stream, type) = (GObjectBox(retaining: UnsafeMutableRawPointer(stream!)), String(cString: type!))
                LoadingContent.of(provider!) { $0.write(type, to: stream, task) }
            }
            table.pointee.write_mime_type_finish = { _, result, error in
                g_task_propagate_boolean(result, error)
            }
        }
        let (size, instance) = (guint(parent.class_size), guint(parent.instance_size))
        return g_type_register_static_simple(
            parent.type,
            "GwiLoadingContent",
            size,
            setUp,
            instance,
            nil,
            GTypeFlags(rawValue: 0)
        )
    }()

    func makeProvider() -> OpaquePointer {
        let provider = g_object_new_with_properties(Self.type, 0, nil, nil)!
        let content = Unmanaged.passRetained(self).toOpaque()
        g_object_set_data_full(provider, Self.key, content) { Unmanaged<LoadingContent>.fromOpaque($0!).release() }
        return OpaquePointer(provider)
    }

    /// Finds the contents of a provider. GTK calls providers on the main thread.
    private nonisolated static func of<R: Sendable>(
        _ provider: UnsafeMutablePointer<GdkContentProvider>,
        _ body: @MainActor (LoadingContent) -> R
    ) -> R {
        let address = UInt(bitPattern: provider)
        return MainActor.assumeIsolated {
            let provider = UnsafeMutablePointer<GObject>(bitPattern: address)!
            return body(Unmanaged<LoadingContent>.fromOpaque(g_object_get_data(provider, key)!).takeUnretainedValue())
        }
    }

    private func makeFormats() -> OpaquePointer {
        let builder = gdk_content_formats_builder_new()
        for type in mediaTypes { gdk_content_formats_builder_add_mime_type(builder, type) }
        return gdk_content_formats_builder_free_to_formats(builder)
    }

    private func write(_ type: String, to stream: GObjectBox, _ task: GObjectBox) {
        Task {
            do throws(ImageError) {
                Self.write(try await file(as: type), to: stream, task)
            } catch {
                let error = g_error_new_literal(g_io_error_quark(), Int32(G_IO_ERROR_FAILED.rawValue), "\(error)")
                g_task_return_error(OpaquePointer(task.pointer), error)
            }
        }
    }

    private static func write(_ data: Data, to stream: GObjectBox, _ task: GObjectBox) {
        let bytes = data.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
        let source = g_memory_input_stream_new_from_bytes(bytes)
        g_bytes_unref(bytes)
        defer { g_object_unref(source) }
        g_output_stream_splice_async(
            stream.pointer.assumingMemoryBound(to: GOutputStream.self),
            source,
            GOutputStreamSpliceFlags(rawValue: 0),
            G_PRIORITY_DEFAULT,
            g_task_get_cancellable(OpaquePointer(task.pointer)),
            { stream, result, context in
                let task = Unmanaged<GObjectBox>.fromOpaque(context!).takeRetainedValue()
                var error: UnsafeMutablePointer<GError>?
                let output = UnsafeMutableRawPointer(stream!).assumingMemoryBound(to: GOutputStream.self)
                g_output_stream_splice_finish(output, result, &error)
                if error != nil {
                    g_task_return_error(OpaquePointer(task.pointer), error)
                } else {
                    g_task_return_boolean(OpaquePointer(task.pointer), 1)
                }
            },
            Unmanaged.passRetained(task).toOpaque()
        )
    }

    /// The file of a media type: the original bytes, or all pixels as a PNG.
    private func file(as type: String) async throws(ImageError) -> Data {
        let data = try await manager.file(for: request)
        let isPNG = type == "image/png"
        if !isPNG || request.transformer == nil {
            if ImageFormat(sniffing: data).descriptor?.mediaTypes.contains(type) == true { return data }
        }
        guard isPNG else {
            let (reason, remedy) = ("The file is no \(type)", "Name the format of the file, or none.")
            throw ImageError(.unsupportedFormat, url: request.url, reason: reason, remedy: remedy)
        }
        let image = try await manager.image(for: request)
        let file = await inBackground {
            Result { () throws(ImageError) in try CoderRegistry.builtIn.encode(image, as: .png) }
        }
        return try file.get()
    }
}
