// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

internal import CWebImageGtk4
public import ForeignBinding
import Foundation
public import GtkWebImage
import WebImageTesting

// This file does not compile if GtkWebImage takes a name that GTK bindings and HTTP libraries use.

extension Picture: PictureBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { pointer } }
extension Button: ButtonBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { pointer } }
extension Entry: EntryBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { pointer } }
extension Image: WidgetBindable { public var nativeWidgetPointer: UnsafeMutableRawPointer { pointer } }

/// Other names that an app may have for itself.
private struct ForeignNames {
    var request = HTTPRequest()
    var response = HTTPResponse()
    var values: (Request, Response, Configuration) = (Request(), Response(), Configuration())
    var network: (Credential, RateLimit, Proxy) = (Credential(), RateLimit(), Proxy())
    var observation = Observation()
    var layout: (Orientation, Edge, ContentMode) = (.horizontal, .leading, .fit)
    var widgets: [Widget.Type] = [
        Window.self, Box.self, Label.self, CheckButton.self, ToggleButton.self, MenuButton.self,
    ]
}

extension Scenario {
    static let names: [Scenario] = [
        Scenario("Classes with the names of the wrappers are bound where only GtkWebImage is imported") {
            let stage = try Stage()
            let picture = Picture()
            let button = Button()
            let image = Image()
            let entry = Entry()
            for pointer in [picture.pointer, button.pointer, image.pointer, entry.pointer] {
                let widget = pointer.assumingMemoryBound(to: GtkWidget.self)
                gtk_widget_set_size_request(widget, 40, 30)
                stage.append(widget)
            }
            stage.present()
            let bindables: [any WidgetBindable] = [picture, button, image]
            for bindable in bindables {
                bindable.setImage(with: stage.url(0x336699), completion: stage.completion)
            }
            entry.setIcon(
                with: stage.url(0x336699),
                at: .primary,
                completion: stage.completion
            )
            stage.waitForResults(4)
            for bindable in bindables { expectEqual(bindable.currentImage?.color, 0x336699) }
            expectEqual(entry.iconBinding(at: .primary).currentImage?.color, 0x336699)
            expectEqual(ForeignNames().widgets.count, 6)
            for pointer in [picture.pointer, button.pointer, image.pointer, entry.pointer] {
                stage.remove(pointer.assumingMemoryBound(to: GtkWidget.self))
            }
        }
    ]
}
