internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageBuilder
import WebImageLinux
import WebImageTesting

/// A stage whose window shows the widgets of a file of GtkBuilder.
@MainActor
final class BuilderStage {
    let stage: Stage
    /// The WebPicture of the file.
    let picture: WidgetPointer
    private var builder: OpaquePointer?
    /// The signals `loaded` and `failed` and the notifications, in their order.
    private(set) var events: [String] = []

    /// - Parameter body: What a WebPicture of 100 by 80 application pixels contains.
    convenience init(_ stage: Stage, _ body: String) throws {
        let size = #"<property name="width-request">100</property><property name="height-request">80</property>"#
        let place = #"<property name="halign">center</property><property name="valign">center</property>"#
        try self.init(stage, root: #"<object class="WebPicture" id="picture">\#(size)\#(place)\#(body)</object>"#)
    }

    /// - Parameter root: Widgets, one of which is a WebPicture with the right name.
    init(_ stage: Stage, root: String) throws {
        WebPicture.register()
        self.stage = stage
        let builder = try Self.load("<interface>\(root)</interface>")
        self.builder = builder
        let object = try require(gtk_builder_get_object(builder, "picture"), "no WebPicture")
        picture = WidgetPointer(UnsafeMutableRawPointer(object))
        var top = picture.widget
        while let parent = gtk_widget_get_parent(top) { top = parent }
        stage.append(top)
        for name in ["loaded", "failed"] {
            picture.nativeWidgetPointer.connect(name) { [weak self] in self?.events.append(name) }
        }
        for name in ["state", "progress", "error-message", "uri"] {
            picture.nativeWidgetPointer.connect("notify::\(name)") { [weak self] in
                self?.events.append("notify::\(name)")
            }
        }
    }

    /// Releases the builder, which keeps the widgets until then.
    func forget() {
        if let builder { g_object_unref(UnsafeMutableRawPointer(builder)) }
        builder = nil
    }

    /// The message of GtkBuilder about a file with a mistake.
    struct Mistake: Error {
        let text: String
    }

    static func load(_ file: String) throws -> OpaquePointer {
        let builder = gtk_builder_new()!
        var error: UnsafeMutablePointer<GError>?
        guard gtk_builder_add_from_string(builder, file, -1, &error) != 0 else {
            defer { g_clear_error(&error) }
            g_object_unref(UnsafeMutableRawPointer(builder))
            throw Mistake(text: error.map { String(cString: $0.pointee.message) } ?? "no message")
        }
        return builder
    }

    func widget(_ name: String) throws -> UnsafeMutablePointer<GtkWidget> {
        try require(gtk_builder_get_object(builder, name), "no \(name)").as(GtkWidget.self)
    }

    /// The property `uri`, as a program sets it.
    var uri: String? {
        get { picture.widget.text("uri") }
        set { picture.widget.setText("uri", newValue) }
    }

    /// The nick of the property `state`.
    var state: String { ["idle", "loading", "shown", "failed"][picture.widget.number("state")] }

    /// Waits for a number of signals of a name, whatever else happens.
    func wait(for name: String, _ count: Int = 1, file: StaticString = #fileID, line: UInt = #line) {
        let isThere = MainLoopPump.run(until: { self.events.count { $0 == name } >= count })
        expect(isThere, "no \(name): \(events), state \(state)", file: file, line: line)
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    func setText(_ property: String, _ text: String?) {
        var value = GValue()
        g_value_init(&value, g_type_from_name("gchararray"))
        defer { g_value_unset(&value) }
        g_value_set_string(&value, text)
        g_object_set_property(self.as(GObject.self), property, &value)
    }

    func text(_ property: String) -> String? {
        with(property, "gchararray") { g_value_get_string(&$0).map { String(cString: $0) } }
    }

    /// A number, the value of an enumeration, or 1 for true.
    func number(_ property: String) -> Int { with(property, "gint") { Int(g_value_get_int(&$0)) } }

    func decimal(_ property: String) -> Double { with(property, "gdouble") { g_value_get_double(&$0) } }

    private func with<T>(_ property: String, _ type: String, _ body: (inout GValue) -> T) -> T {
        var value = GValue()
        g_value_init(&value, g_type_from_name(type))
        defer { g_value_unset(&value) }
        g_object_get_property(self.as(GObject.self), property, &value)
        return body(&value)
    }
}
