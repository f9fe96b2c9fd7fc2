internal import CWebImageGtk4
import Foundation
import GtkWebImage
import TestSupport
import WebImageTesting

// Classes of other GTK bindings, each with its pointer under the name and of the type that it has there, and the line
// that joins it.

/// rhx/SwiftGtk
private class PictureRef {
    let ptr: UnsafeMutableRawPointer!
    init() { ptr = g_object_ref_sink(UnsafeMutableRawPointer(gtk_picture_new()!)) }
    deinit { g_object_unref(ptr) }
}

/// swift-cross-ui
private enum Gtk {
    class Picture {
        let gobjectPointer: UnsafeMutablePointer<GObject>
        init() { gobjectPointer = g_object_ref_sink(gtk_picture_new()!)!.assumingMemoryBound(to: GObject.self) }
        deinit { g_object_unref(gobjectPointer) }
    }
}

/// makoni/swift-adwaita
private enum Adwaita {
    @MainActor
    class Picture {
        nonisolated(unsafe) let pointer: UnsafeMutableRawPointer
        init() { pointer = g_object_ref_sink(gtk_picture_new()!)! }
        deinit { g_object_unref(pointer) }
    }
}

/// Adwaita for Swift: the storage of a view, as inspect passes it.
@MainActor
private enum AdwaitaForSwift {
    final class Storage {
        let opaquePointer: OpaquePointer?
        init() { opaquePointer = OpaquePointer(g_object_ref_sink(gtk_picture_new()!)) }
        deinit { g_object_unref(UnsafeMutableRawPointer(opaquePointer)) }
    }

    struct Picture {
        private let storage = Storage()
        func inspect(_ body: (Storage, Bool) -> Void) { body(storage, true) }
    }
}

// swift-format-ignore
extension PictureRef: PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { ptr } }
// swift-format-ignore
extension Gtk.Picture: PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { .init(gobjectPointer) } }
// swift-format-ignore
extension Adwaita.Picture: PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { pointer } }

extension AdwaitaForSwift {
    fileprivate static func show(_ url: URL, in avatar: OpaquePointer) {
        Picture().inspect { storage, _ in WidgetPointer(storage.opaquePointer!).setImage(with: url) }
        WidgetPointer(avatar).setImage(with: url)
    }
}

extension Scenario {
    static let interop: [Scenario] = [
        Scenario("The GtkPicture classes of four other GTK bindings join with one line each") {
            let stage = try Stage()
            let view = AdwaitaForSwift.Picture()
            var pictures: [any PictureBindable] = [PictureRef(), Gtk.Picture(), Adwaita.Picture()]
            view.inspect { storage, _ in pictures.append(WidgetPointer(storage.opaquePointer!)) }
            for picture in pictures {
                gtk_widget_set_size_request(picture.widget, 40, 30)
                stage.append(picture.widget)
            }
            stage.present()
            for picture in pictures {
                picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            }
            stage.waitForResults(4)
            for picture in pictures { expectEqual(picture.currentImage?.color, 0x336699) }
            for picture in pictures { stage.remove(picture.widget) }
            withExtendedLifetime(view) {}
        },

        Scenario("An avatar of libadwaita shows its image") {
            typealias New = @convention(c) (gint, UnsafePointer<CChar>?, gboolean) -> UnsafeMutablePointer<GtkWidget>
            typealias Initialize = @convention(c) () -> Void
            guard let library = dlopen("libadwaita-1.so.0", RTLD_NOW), let initialize = dlsym(library, "adw_init"),
                let new = dlsym(library, "adw_avatar_new")
            else { throw Skipped(reason: "libadwaita is not installed") }
            unsafeBitCast(initialize, to: Initialize.self)()
            let avatar = unsafeBitCast(new, to: New.self)(48, "Anna", 1)
            let stage = try Stage()
            gtk_widget_set_halign(avatar, GTK_ALIGN_CENTER)
            stage.append(avatar)
            stage.present()
            WidgetPointer(avatar).setImage(
                with: stage.url(0x336699, "400x400"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            stage.waitForFrame()
            expectEqual(rendered(avatar)?.color(0.5, 0.5), 0x336699)
            let decoded = WidgetPointer(avatar).currentImage?.pixelSize
            expectEqual(decoded, PixelSize(width: 48, height: 48))
        },

        Scenario("An avatar of libadwaita shows its initials while there is no image") {
            typealias New = @convention(c) (gint, UnsafePointer<CChar>?, gboolean) -> UnsafeMutablePointer<GtkWidget>
            typealias Initialize = @convention(c) () -> Void
            typealias Getter = @convention(c) (UnsafeMutablePointer<GtkWidget>) -> OpaquePointer?
            guard let library = dlopen("libadwaita-1.so.0", RTLD_NOW), let initialize = dlsym(library, "adw_init"),
                let new = dlsym(library, "adw_avatar_new"), let getter = dlsym(library, "adw_avatar_get_custom_image")
            else { throw Skipped(reason: "libadwaita is not installed") }
            unsafeBitCast(initialize, to: Initialize.self)()
            let avatar = unsafeBitCast(new, to: New.self)(48, "Anna", 1)
            func hasImage() -> Bool { unsafeBitCast(getter, to: Getter.self)(avatar) != nil }
            let stage = try Stage()
            gtk_widget_set_halign(avatar, GTK_ALIGN_CENTER)
            stage.append(avatar)
            stage.present()
            let missing = URL(string: "file:///nowhere/at/all.png")!
            let pointer = WidgetPointer(avatar)
            pointer.setImage(with: missing, completion: stage.completion)
            expect(!hasImage(), "while it loads")
            stage.waitForResults(1)
            expect(!hasImage(), "after a failure")
            // An image takes the place of the initials, and a failure or nothing gives it back.
            pointer.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(2)
            expect(hasImage(), "with an image")
            pointer.setImage(with: missing, completion: stage.completion)
            stage.waitForResults(3)
            expect(!hasImage(), "after a second failure")
            pointer.setImage(with: stage.url(0x336699), completion: stage.completion)
            expect(hasImage(), "with the same image from memory")
            pointer.clearImage()
            expect(!hasImage(), "without an image")
            // A placeholder draws something, so it takes the place, too.
            pointer.errorPlaceholder = .icon("image-missing-symbolic")
            pointer.setImage(with: missing, completion: stage.completion)
            stage.waitForResults(5)
            expect(hasImage(), "with an error placeholder")
            // What has no size of its own cannot be drawn in a circle: libadwaita 1.2 fails with a critical warning.
            pointer.errorPlaceholder = nil
            pointer.imageIndicator = .activity(size: 16, delay: .zero)
            pointer.setImage(
                with: missing,
                placeholder: .color(ImageColor(0x808080)),
                completion: stage.completion
            )
            expect(!hasImage(), "with a colour")
            stage.waitForFrame()
            stage.waitForResults(6)
            expect(!hasImage(), "after a failure with an indicator")
            pointer.imageTransition = .crossfade(duration: .milliseconds(200))
            pointer.setImage(with: stage.url(0x996633), completion: stage.completion)
            stage.waitForResults(7)
            expect(hasImage(), "while an image fades in")
            stage.waitForFrame()
        },

        Scenario("A marker on a map of libshumate shows its image") {
            typealias New = @convention(c) () -> UnsafeMutablePointer<GtkWidget>
            guard let library = dlopen("libshumate-1.0.so.1", RTLD_NOW), let new = dlsym(library, "shumate_marker_new")
            else { throw Skipped(reason: "libshumate is not installed") }
            let marker = unsafeBitCast(new, to: New.self)()
            let stage = try Stage()
            gtk_widget_set_size_request(marker, 40, 40)
            stage.append(marker)
            stage.present()
            WidgetPointer(marker).setImage(
                with: stage.url(0x336699),
                completion: stage.completion
            )
            stage.waitForResults(1)
            stage.waitForFrame()
            expectEqual(rendered(marker)?.color(0.5, 0.5), 0x336699)
        },

        Scenario(
            "An image is decoded for the scale factor of its screen and once more when that grows",
            .drawing,
            .density
        ) {
            typealias SetScale = @convention(c) (OpaquePointer?, gint) -> Void
            let stage = try Stage()
            let picture = stage.addImage(width: 100, height: 80)
            stage.present()
            let scale = Int(gtk_widget_get_scale_factor(picture.widget))
            picture.setImage(
                with: stage.url(0x336699, "1000x800"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.pixelSize, PixelSize(width: 100 * scale, height: 80 * scale))
            expectEqual(gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(picture.widget.opaque)), 1000)
            let symbol =
                broadway == nil ? "gdk_x11_display_set_surface_scale" : "gdk_broadway_display_set_surface_scale"
            let change = try require(dlsym(dlopen(nil, RTLD_NOW), symbol))
            unsafeBitCast(change, to: SetScale.self)(gdk_display_get_default(), gint(scale + 1))
            expect(
                MainLoopPump.run(until: {
                    gtk_widget_queue_draw(stage.window)
                    let width = Int(gtk_widget_get_width(picture.widget)) * (scale + 1)
                    return gtk_widget_get_scale_factor(picture.widget) == scale + 1
                        && picture.currentImage?.pixelSize.width == min(width, 1000)
                }),
                "\(String(describing: picture.currentImage?.pixelSize))"
            )
            // The image stayed visible, and the file was fetched once.
            expectEqual(stage.server.requests.count, 1)
        },
    ]
}
