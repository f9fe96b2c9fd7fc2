internal import CWebImageGtk4

extension PictureTarget {
    /// Requests ``fixedSize``. A child keeps it if its widget is larger.
    ///
    /// If it had only a size request, the GtkPicture would also request the size of its image, and the width that fits each
    /// height. This layout manager requests nothing, so that only the size request counts.
    func applyFixedSize(replacing old: (width: Int, height: Int)?) {
        guard paintable.content.hasSize else { return reportFixedSize(fixedSize) }
        guard let picture = picture.pointer else { return }
        if old == nil {
            var request = ownRequest
            gtk_widget_get_size_request(picture, &request.width, &request.height)
            ownRequest = request
        }
        let measure: GtkCustomMeasureFunc = { _, _, _, minimum, natural, minimumBaseline, naturalBaseline in
            for length in [minimum, natural] { length?.pointee = 0 }
            for baseline in [minimumBaseline, naturalBaseline] { baseline?.pointee = -1 }
        }
        let layout = fixedSize == nil ? nil : gtk_custom_layout_new(nil, measure) { _, _, _, _ in }
        gtk_widget_set_layout_manager(picture, layout)
        let size = fixedSize.map { (width: Self.side($0.width), height: Self.side($0.height)) } ?? ownRequest
        gtk_widget_set_size_request(picture, size.width, size.height)
        guard parent != nil else { return }
        gtk_widget_set_halign(picture, fixedSize == nil ? GTK_ALIGN_FILL : GTK_ALIGN_CENTER)
        gtk_widget_set_valign(picture, fixedSize == nil ? GTK_ALIGN_FILL : GTK_ALIGN_CENTER)
    }

    /// GTK cannot lay out longer sides.
    private static func side(_ length: Int) -> Int32 { Int32(min(max(length, 0), 1 << 15)) }
}
