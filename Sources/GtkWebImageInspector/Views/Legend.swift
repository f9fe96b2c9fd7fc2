internal import CWebImageGtk4

/// The names of the stages, next to their colors.
@MainActor
enum Legend {
    static func make() -> Widget {
        let flow = gtk_flow_box_new()!
        gtk_flow_box_set_selection_mode(flow.native, GTK_SELECTION_NONE)
        gtk_flow_box_set_max_children_per_line(flow.native, 7)
        gtk_flow_box_set_min_children_per_line(flow.native, 4)
        gtk_flow_box_set_column_spacing(flow.native, 6)
        for stage in LoadStage.allCases {
            let swatch = Canvas()
            gtk_widget_set_size_request(swatch.widget, 8, 8)
            gtk_widget_set_valign(swatch.widget, GTK_ALIGN_CENTER)
            swatch.draw = { painter in
                let area = Box(x: 0, y: 0, width: painter.width, height: painter.height)
                painter.fill(area, radius: 2, Palette.color(of: stage))
            }
            let name = label(stage.name, "small")
            gtk_flow_box_insert(flow.native, box(GTK_ORIENTATION_HORIZONTAL, spacing: 4, [swatch.widget, name]), -1)
        }
        // A flow box without focusable children would trap Tab.
        gtk_widget_set_can_focus(flow, 0)
        return flow
    }
}
