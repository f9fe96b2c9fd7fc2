extension Page {
    static let wall = Page(
        id: "wall",
        title: tr("Wall"),
        summary: tr(
            "As many cells as fit, recycled while scrolling. Loads of cells that leave the screen are cancelled, and visible cells load first."
        ),
        code: """
            let factory = ImageListFactory(
                width: 160,
                height: 120,
                imageDescription: { requested[$0].imageTitle },
                configure: { picture in
                    picture.imageIndicator = .tint
                    picture.errorPlaceholder = .icon("image-missing-symbolic")
                    pictures.insert(picture)
                },
                request: { position in ImageRequest(url: requested[position]) }
            )
            let view = gtk_grid_view_new(gtk_no_selection_new(WallGrid.model(of: urls)), nil)!
            gtk_grid_view_set_factory(OpaquePointer(view), factory.nativeFactory)
            prefetcher = ListPrefetcher(view: WidgetPointer(view)) { position in
                ImageRequest(url: urls[position])
            }
            """,
        isFilling: true,
        parts: ["ImageWall.swift", "WallGrid.swift", "LargeView.swift"]
    ) { context in
        let stage = WallStage(context)
        var content = PageContent(stage.widget, owner: stage)
        content.isAtRest = { stage.isAtRest }
        return content
    }
}
