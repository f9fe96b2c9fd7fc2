internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let buttons = Page(
        id: "buttons",
        title: tr("Buttons and icons"),
        summary: tr(
            "An image for each state, an image behind the label, and a round one. Hover over the buttons, press them, or disable them."
        ),
        uses: ["for: .", "setBackgroundImage", ".circle()"]
    ) { context in
        let button = Button()
        let labelled = gtk_button_new_with_label(tr("Background"))!
        let avatar = Button()
        let toggle = gtk_toggle_button_new()!
        let menu = MenuButton()
        for widget in [button.widget, labelled, toggle, menu.widget] {
            gtk_widget_set_size_request(widget, widget == labelled ? 152 : 120, 90)
        }
        gtk_widget_set_size_request(avatar.widget, 90, 90)
        gtk_widget_add_css_class(avatar.widget, "circular")
        gtk_widget_add_css_class(labelled, "on-image")
        let on = WidgetPointer(toggle)
        on.setImage(with: context.fresh("moonlit-lake.jpg"), for: .normal)
        on.setImage(with: context.fresh("sea-waves.jpg"), for: .checked)
        menu.setImage(with: context.fresh("citrus.webp"))
        let popover = gtk_popover_new()!
        gtk_popover_set_child(cast(OpaquePointer(popover)), label(tr("A menu button takes an image, too.")))
        gtk_menu_button_set_popover(OpaquePointer(menu.widget), popover)
        button.setImage(with: context.fresh("dusk-mountains.jpg"), for: .normal)
        button.setImage(with: context.fresh("desert-dunes.jpg"), for: .prelight)
        button.setImage(with: context.fresh("moonlit-lake.jpg"), for: .active)
        WidgetPointer(labelled).setBackgroundImage(with: context.fresh("city-skyline.jpg"))
        avatar.setImage(with: ImageRequest(url: context.fresh("cat.jpg"), transformer: .circle()))
        button.setImageDescription(tr("Mountains"))
        avatar.setImageDescription(tr("A cat"))
        setName(toggle, tr("Night or day"))
        setName(menu.widget, tr("Citrus fruits"))
        let switches = [button.widget, labelled, avatar.widget, toggle, menu.widget]
        let off = checkButton(tr("Disabled")) { isOff in
            for widget in switches { gtk_widget_set_sensitive(widget, isOff ? 0 : 1) }
        }
        let cells = [
            captioned(button.widget, tr("normal, hovered, pressed")), captioned(labelled, tr("behind the label")),
            captioned(avatar.widget, tr("round")), captioned(toggle, tr("on and off")),
            captioned(menu.widget, tr("a menu")),
        ]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, [off, flow(cells)]))
    }
}
