internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageBuilder

extension Page {
    static let builder = Page(
        id: "builder",
        title: tr(".ui files"),
        summary: tr("A list whose rows are in a .ui file. The address of each image is an expression of GTK."),
        uses: ["WebPicture", "gtk_builder_new_from_string", #"<binding name="uri">"#],
        isFilling: true
    ) { context in
        WebPicture.register()
        let builder = gtk_builder_new_from_string(list, -1)
        defer { g_object_unref(builder.map { UnsafeMutableRawPointer($0) }) }
        func object(_ name: String) -> OpaquePointer { OpaquePointer(gtk_builder_get_object(builder, name)) }
        for name in context.server.names { gtk_string_list_append(object("urls"), context.fresh(name).absoluteString) }
        let owned = OwnedWidget(cast(object("scroller")))
        return PageContent(owned.widget, owner: owned) { isAtRest(owned.widget) }
    }

    /// Whether the images in a widget that are on screen have loaded. Those of rows beyond it wait.
    @MainActor
    private static func isAtRest(_ widget: Widget) -> Bool {
        guard gtk_widget_get_mapped(widget) != 0 else { return true }
        return WidgetPointer(widget).images.task(for: .image)?.isFinished ?? true
            && childWidgets(of: widget).allSatisfy(isAtRest)
    }

    private static let list = """
        <interface>
          <object class="GtkStringList" id="urls"/>
          <object class="GtkScrolledWindow" id="scroller">
            <property name="vexpand">True</property>
            <child>
              <object class="GtkListView">
                <property name="model">
                  <object class="GtkNoSelection"><property name="model">urls</property></object>
                </property>
                <property name="factory">
                  <object class="GtkBuilderListItemFactory"><property name="bytes"><![CDATA[
        <interface>
          <template class="GtkListItem">
            <property name="child">
              <object class="GtkBox">
                <property name="spacing">12</property>
                <child>
            <object class="WebPicture" id="picture">
              <property name="width-request">120</property>
              <property name="height-request">90</property>
              <property name="content-fit">cover</property>
              <property name="placeholder-icon-name">image-x-generic-symbolic</property>
              <property name="transition">crossfade</property>
              <binding name="uri">
                <lookup name="string" type="GtkStringObject">
                  <lookup name="item">GtkListItem</lookup>
                </lookup>
              </binding>
            </object>
                </child>
                <child>
                  <object class="GtkLabel">
                    <property name="ellipsize">middle</property>
                    <property name="margin-end">12</property>
                    <binding name="label"><lookup name="uri">picture</lookup></binding>
                  </object>
                </child>
              </object>
            </property>
          </template>
        </interface>
        ]]></property></object>
                </property>
              </object>
            </child>
          </object>
        </interface>
        """
}
