internal import CWebImageGtk4
import FoundationEssentials
import Glibc
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageCore
import WebImageDesktop
import WebImageLinux
import WebImageTesting

private let titles = ["Copy Image", "Save Image As…", "Open Image", "Copy Address"]

/// Runs the scenario in another process, for whose desktop JPEG files have a program and others have none.
private func runWithViewer() throws {
    let folder = TemporaryDirectory()
    for (name, text) in [
        (
            "viewer",
            "#!/bin/sh\ncp \"$1\" \(folder.path)/copy\nprintf %s \"$1\" > \(folder.path)/part\nmv \(folder.path)/part \(folder.path)/path\n"
        ),
        (
            "applications/viewer.desktop",
            "[Desktop Entry]\nType=Application\nName=Viewer\nExec=\(folder.path)/viewer %f\n"
        ),
        ("mimeapps.list", "[Default Applications]\nimage/jpeg=viewer.desktop\n"),
    ] { try FileStore().write([Data(text.utf8)], to: "\(folder.path)/\(name)") }
    chmod("\(folder.path)/viewer", 0o700)
    try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/mime", withDestinationPath: "/usr/share/mime")
    let names = ["GWI_VIEWER", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CACHE_HOME"]
    let result = try ChildProcess.run(
        CommandLine.arguments[0],
        [CommandLine.arguments[1]],
        environment: Dictionary(uniqueKeysWithValues: names.map { ($0, folder.path) })
    )
    expectEqual(result.exitCode, 0, result.output)
}

/// Waits until the program has received a file.
@MainActor
private func waitForViewer(in folder: String) throws -> (path: String, file: Data) {
    let path = "\(folder)/path"
    expect(MainLoopPump.run(until: { FileManager.default.fileExists(atPath: path) }), "no program was started")
    defer { try? FileManager.default.removeItem(atPath: path) }
    let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    return (text, try Data(contentsOf: URL(filePath: "\(folder)/copy")))
}

extension Scenario {
    static let menus: [Scenario] = [
        Scenario(
            "A right click opens a menu that copies the whole file of the image, or its address without a password"
        ) {
            let menu = try MenuStage()
            menu.stage.present()
            menu.show("/a.jpg")
            expectEqual(menu.picture.currentImage?.pixelSize, PixelSize(width: 100, height: 75))
            try menu.stage.click(menu.picture, button: 3, until: { menu.menu() != nil })
            expectEqual(try menu.entries(), titles)
            try menu.choose("Copy Image")
            expectEqual(menu.clipboard("image/jpeg"), MenuStage.file)
            // When the next URL has a password
            var parts = try require(URLComponents(url: menu.stage.server.url("/b.jpg"), resolvingAgainstBaseURL: true))
            let address = parts.string
            (parts.user, parts.password) = ("ann", "secret")
            menu.picture.setImage(with: try require(parts.url), completion: menu.stage.completion)
            menu.stage.waitForResults(2)
            try menu.open()
            try menu.choose("Copy Address")
            expectEqual(menu.clipboardText, address)
            expectEqual(menu.errors.count, 0)
        },

        Scenario(
            "A long touch opens the menu, and so do its keys in a widget with the focus, until the widget has none"
        ) {
            let menu = try MenuStage()
            menu.stage.present()
            menu.show("/a.jpg")
            @MainActor func close() throws {
                let popover = try require(menu.menu())
                gtk_popover_popdown(popover.as(GtkPopover.self))
                expect(MainLoopPump.run(until: { menu.picture.widget.descendants("GtkPopoverMenu").isEmpty }))
            }
            try emit("pressed", of: "GtkGestureLongPress", in: menu.picture, 10, 10)
            expect(MainLoopPump.run(until: { menu.menu() != nil }))
            try close()
            let display = try require(broadway)
            for (key, modifiers) in [(GDK_KEY_Menu, 0), (GDK_KEY_F10, Int(GDK_SHIFT_MASK.rawValue))] {
                gtk_widget_grab_focus(menu.picture.widget)
                display.press(key: Int(key), modifiers: modifiers)
                expect(MainLoopPump.run(until: { menu.menu() != nil }), "\(key)")
                try close()
            }
            try emit("pressed", of: "GtkGestureLongPress", in: menu.picture, 10, 10)
            expect(MainLoopPump.run(until: { menu.menu() != nil }))
            menu.picture.imageMenu = nil
            expect(menu.picture.widget.descendants("GtkPopoverMenu").isEmpty, "the menu is left")
            // Then the key is for others.
            var isPassedOn = false
            let keys = gtk_event_controller_key_new()!
            UnsafeMutableRawPointer(keys).connect("key-pressed") { isPassedOn = true }
            gtk_widget_add_controller(menu.stage.window, keys)
            gtk_widget_grab_focus(menu.picture.widget)
            display.press(key: Int(GDK_KEY_F10), modifiers: Int(GDK_SHIFT_MASK.rawValue))
            expect(MainLoopPump.run(until: { isPassedOn }), "the key is swallowed")
            try emit("pressed", of: "GtkGestureLongPress", in: menu.picture, 10, 10)
            expect(menu.picture.widget.descendants("GtkPopoverMenu").isEmpty && menu.picture.imageMenu == nil)
        },

        Scenario("An image is saved as its file under a name that fits, and what fails is reported") {
            let isBroken = EventLog<Bool>()
            let menu = try MenuStage { isBroken.all.isEmpty ? MenuStage.answer($0) : .notFound }
            let folder = TemporaryDirectory()
            menu.stage.present()
            let long = String(repeating: "%C3%A4", count: 150)
            // Given URLs whose last components are no names of JPEG files
            for (path, name) in [
                ("/photo.php?id=1", "photo.jpg"), ("/v1.release", "v1.release.jpg"), ("/", "image.jpg"),
                ("/\(long)", "\(String(repeating: "ä", count: 100)).jpg"),
            ] {
                menu.show(path)
                try menu.open()
                try menu.choose("Save Image As…")
                let saved = "\(folder.path)/\(name)"
                expectEqual(try menu.save(at: saved), name)
                let url = URL(filePath: saved)
                expect(MainLoopPump.run(until: { (try? Data(contentsOf: url)) == MenuStage.file }), name)
            }
            // When the place cannot be written
            try menu.open()
            try menu.choose("Save Image As…")
            _ = try menu.save(at: "/proc/self/image.jpg")
            expect(MainLoopPump.run(until: { menu.errors.count == 1 }))
            // And when neither a cache nor the server has the file any longer
            isBroken.add(true)
            var isEmpty = false
            Task { @MainActor in
                await menu.stage.manager.cache.removeAll(from: .disk)
                isEmpty = true
            }
            expect(MainLoopPump.run(until: { isEmpty }))
            try menu.open()
            try menu.choose("Save Image As…")
            _ = try menu.save(at: "\(folder.path)/lost.jpg")
            expect(MainLoopPump.run(until: { menu.errors.count == 2 }))
            expectEqual(menu.errors.map(\.code), [.notStored, .badStatus])
            expect(!FileManager.default.fileExists(atPath: "\(folder.path)/lost.jpg"))
        },

        Scenario("The program for the format opens a copy of the file, or the file itself if it is local") {
            guard let folder = ProcessInfo.processInfo.environment["GWI_VIEWER"] else { return try runWithViewer() }
            let menu = try MenuStage()
            menu.stage.present()
            // Given a copy that was opened the day before yesterday
            let copies = URL(filePath: CacheDirectory.opened)
            let old = copies.appending(path: "1/old.jpg").path()
            try FileStore().write([MenuStage.file], to: old)
            let date = Date.now.addingTimeInterval(-2 * 86_400)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: old)
            menu.show("/a.jpg")
            try menu.open()
            try menu.choose("Open Image")
            let opened = try waitForViewer(in: folder)
            expect(opened.path.hasPrefix(copies.path()) && opened.path.hasSuffix("/a.jpg"), opened.path)
            expectEqual(opened.file, MenuStage.file)
            let names = try FileManager.default.contentsOfDirectory(atPath: copies.path())
            expect(!names.contains("1") && names.contains(DiskCacheLayout.tagName), "\(names)")
            // When the file is local
            let local = URL(filePath: "\(folder)/local.jpg")
            try MenuStage.file.write(to: local)
            menu.picture.setImage(with: local, completion: menu.stage.completion)
            menu.stage.waitForResults(2)
            try menu.open()
            try menu.choose("Open Image")
            expectEqual(try waitForViewer(in: folder).path, local.path())
            // And when no program is there for the format
            menu.picture.setImage(solid(0x00FF00, width: 40, height: 30))
            try menu.open()
            try menu.choose("Open Image")
            expect(MainLoopPump.run(until: { !menu.errors.isEmpty }))
            expectEqual(menu.errors.map(\.code), [.unsupportedFormat])
        },

        Scenario("Entries are disabled without an image, and an open menu keeps the image that it was opened for") {
            let menu = try MenuStage()
            menu.stage.present()
            try menu.open()
            expectEqual(try menu.entries(), titles.map { "(\($0))" })
            // An image of the app has no address, and is copied as its pixels.
            menu.picture.setImage(solid(0x00FF00, width: 40, height: 30))
            try menu.open()
            expectEqual(try menu.entries(), titles.dropLast() + ["(Copy Address)"])
            try menu.choose("Copy Image")
            let texture = menu.clipboard(gdk_texture_get_type()) { g_value_dup_object(&$0) }
            let copy = WebImage(texture: OpaquePointer(try require(texture)))
            g_object_unref(texture)
            expectEqual(copy?.color, 0x00FF00)
            // When another image takes the place of the first
            menu.show("/first.jpg")
            try menu.open()
            menu.show("/second.jpg")
            try menu.choose("Copy Address")
            expectEqual(menu.clipboardText, menu.stage.server.url("/first.jpg").absoluteString)
        },

        Scenario("An open menu goes with its widget, of whatever kind, and keeps nothing alive") {
            let menu = try MenuStage()
            let ui = try BuilderStage(
                menu.stage,
                #"<property name="uri">\#(menu.stage.server.url("/a.jpg"))</property>"#
            )
            let button = gtk_button_new()!
            menu.stage.append(button)
            WidgetPointer(button).setImage(with: menu.stage.server.url("/b.jpg"), completion: menu.stage.completion)
            menu.stage.present()
            ui.wait(for: "loaded")
            menu.stage.waitForResults(1)
            ui.forget()
            for widget in [WidgetPointer(button), ui.picture] {
                widget.imageMenu = ImageMenu()
                try menu.open(of: widget)
                let popover = WidgetReference(try require(menu.menu(of: widget)))
                let reference = WidgetReference(widget.nativeWidgetPointer)
                menu.stage.remove(widget.widget)
                expect(MainLoopPump.run(until: { popover.address == nil }), "the menu is left")
                expect(
                    MainLoopPump.run(until: { reference.address == nil }, timeout: .seconds(5)),
                    "the widget is left"
                )
            }
        },
    ]
}
