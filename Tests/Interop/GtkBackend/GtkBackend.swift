// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Gtk
import SwiftCrossUI

// What a wrapper of a widget implements, with the calls that GtkBackend makes to show it.

public struct GtkWidgetRepresentableContext<Representable: GtkWidgetRepresentable> {
    public let coordinator: Representable.Coordinator
    public internal(set) var environment: EnvironmentValues
}

public protocol GtkWidgetRepresentable: View where Content == Never {
    associatedtype GtkWidgetType: Gtk.Widget
    associatedtype Coordinator = Void
    typealias Context = GtkWidgetRepresentableContext<Self>

    @MainActor func makeGtkWidget(context: Context) -> GtkWidgetType
    @MainActor func updateGtkWidget(_ gtkWidget: GtkWidgetType, context: Context)
    @MainActor func makeCoordinator() -> Coordinator
    func sizeThatFits(_ proposal: ProposedViewSize, gtkWidget: GtkWidgetType, context: Context) -> ViewSize
}

extension GtkWidgetRepresentable {
    public var body: Never { preconditionFailure("A representable has no body") }
}

extension GtkWidgetRepresentable where Coordinator == Void {
    public func makeCoordinator() {}
}

/// Makes the widget of a view, as a layout of GtkBackend does, and updates it at once.
@MainActor
public func render<Representable: GtkWidgetRepresentable>(
    _ view: Representable,
    in proposal: ProposedViewSize
) -> (widget: Representable.GtkWidgetType, size: ViewSize) {
    let context = GtkWidgetRepresentableContext<Representable>(
        coordinator: view.makeCoordinator(),
        environment: EnvironmentValues()
    )
    let widget = view.makeGtkWidget(context: context)
    for _ in 0..<2 { view.updateGtkWidget(widget, context: context) }
    return (widget, view.sizeThatFits(proposal, gtkWidget: widget, context: context))
}
