internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

extension Stage {
    /// An image with a URL for each style.
    fileprivate var logo: ImageRequest {
        var request = ImageRequest(url: url(0xEEEEEE))
        request.darkURL = url(0x222222)
        return request
    }

    /// Makes a stage in a light style, whose server holds some images.
    fileprivate static func light(holding gates: [UInt32: ServerGate] = [:]) throws -> Stage {
        let stage = try Stage(gates: gates)
        stage.setDark(false)
        return stage
    }

    fileprivate func setDark(_ isOn: Bool) { setSetting("gtk-application-prefer-dark-theme", isOn ? 1 : 0) }

    fileprivate var loadedColors: [UInt32] {
        server.requests.compactMap { UInt32($0.path.split(separator: "/").first ?? "", radix: 16) }
    }
}

extension Scenario {
    static let styles: [Scenario] = [
        Scenario(
            "An image follows the style: the old one stays until the other is there, and later ones come from memory"
        ) {
            let gate = ServerGate()
            let stage = try Stage.light(holding: [0x222222: gate])
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.logo, placeholder: .color(ImageColor(0xFF0000)), completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.color, 0xEEEEEE)
            // When the style becomes dark
            stage.setDark(true)
            expect(MainLoopPump.run(until: { stage.loadedColors == [0xEEEEEE, 0x222222] }), "\(stage.loadedColors)")
            stage.waitForFrame()
            // Then the light image stays until the dark one is there
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0xEEEEEE)
            gate.open()
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x222222 }))
            // And each change back is over before the setting's notification returns
            for isDark in [false, true, false] {
                stage.setDark(isDark)
                expectEqual(picture.currentImage?.color, isDark ? 0x222222 : 0xEEEEEE)
            }
            expectEqual(stage.loadedColors.count, 2)
            expectEqual(stage.results.count, 1, "the completion is called once")
        },

        Scenario("In a dark style only the dark URL is loaded, whenever the widget appears") {
            let stage = try Stage.light()
            let (early, late) = (stage.addImage(), stage.addImage())
            gtk_widget_set_visible(late.widget, 0)
            stage.present()
            stage.setDark(true)
            late.setImage(with: stage.url(0x336699))
            early.setImage(with: stage.logo, completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(early.currentImage?.color, 0x222222)
            // When the style changes while a widget waits
            early.clearImage()
            stage.manager.cache.removeAllFromMemory()
            stage.setDark(false)
            late.setImage(with: stage.logo, completion: stage.completion)
            stage.setDark(true)
            gtk_widget_set_visible(late.widget, 1)
            stage.waitForResults(2)
            expectEqual(late.currentImage?.color, 0x222222)
            expect(!stage.loadedColors.contains(0xEEEEEE), "\(stage.loadedColors)")
        },

        Scenario("A change of style during a load ends with the image of the new style") {
            let stage = try Stage.light(holding: [0xEEEEEE: ServerGate()])
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.logo, completion: stage.completion)
            expect(MainLoopPump.run(until: { stage.loadedColors == [0xEEEEEE] }))
            stage.setDark(true)
            stage.waitForResults(1)
            expectEqual(try stage.results[0].get().url, stage.url(0x222222))
            expectEqual(picture.currentImage?.color, 0x222222)
            stage.waitUntilIdle()
        },

        Scenario("A failed image is tried again in the other style, and a cancelled one is not") {
            let stage = try Stage.light()
            let (failed, cancelled) = (stage.addImage(), stage.addImage())
            stage.present()
            var request = ImageRequest(url: stage.server.url("/missing"))
            request.darkURL = stage.url(0x222222)
            failed.setImage(with: request, completion: stage.completion)
            stage.waitForResults(1)
            cancelled.setImage(with: stage.logo, completion: stage.completion).cancel()
            stage.waitForResults(2)
            stage.setDark(true)
            expect(MainLoopPump.run(until: { failed.currentImage?.color == 0x222222 }))
            stage.waitForFrame()
            expect(cancelled.currentImage == nil)
        },

        Scenario("The name of a dark theme counts as well, and the color scheme that GTK has since 4.20") {
            let stage = try Stage.light()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.logo, completion: stage.completion)
            stage.waitForResults(1)
            let settings = UnsafeMutableRawPointer(gtk_settings_get_default()!).assumingMemoryBound(to: GObject.self)
            for (theme, color) in [("Adwaita-dark", 0x222222), ("Adwaita", 0xEEEEEE)] as [(String, UInt32)] {
                var value = GValue()
                g_value_init(&value, g_type_from_name("gchararray"))
                g_value_set_string(&value, theme)
                g_object_set_property(settings, "gtk-theme-name", &value)
                g_value_unset(&value)
                expect(MainLoopPump.run(until: { picture.currentImage?.color == color }), theme)
            }
            guard gtk_check_version(4, 20, 0) == nil else { return }
            // GTK_INTERFACE_COLOR_SCHEME_DARK and LIGHT
            for (scheme, color) in [(2, 0x222222), (3, 0xEEEEEE)] as [(Int32, UInt32)] {
                stage.setSetting("gtk-interface-color-scheme", scheme)
                expect(MainLoopPump.run(until: { picture.currentImage?.color == color }), "\(scheme)")
            }
        },

        Scenario("An image follows the style of libadwaita in an app that uses it") {
            typealias Initialize = @convention(c) () -> Void
            typealias Manager = @convention(c) () -> OpaquePointer
            typealias SetScheme = @convention(c) (OpaquePointer, Int32) -> Void
            // An app that links the library has its names in the global scope.
            guard let library = dlopen("libadwaita-1.so.0", RTLD_NOW | RTLD_GLOBAL),
                let initialize = dlsym(library, "adw_init"),
                let getter = dlsym(library, "adw_style_manager_get_default"),
                let setter = dlsym(library, "adw_style_manager_set_color_scheme")
            else { throw Skipped(reason: "libadwaita is not installed") }
            unsafeBitCast(initialize, to: Initialize.self)()
            let (manager, set) = (unsafeBitCast(getter, to: Manager.self)(), unsafeBitCast(setter, to: SetScheme.self))
            let stage = try Stage.light()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.logo, completion: stage.completion)
            stage.waitForResults(1)
            expectEqual(picture.currentImage?.color, 0xEEEEEE)
            // ADW_COLOR_SCHEME_FORCE_DARK and FORCE_LIGHT
            for (scheme, color) in [(4, 0x222222), (1, 0xEEEEEE)] as [(Int32, UInt32)] {
                set(manager, scheme)
                expect(MainLoopPump.run(until: { picture.currentImage?.color == color }), "\(scheme)")
            }
        },
    ]
}
