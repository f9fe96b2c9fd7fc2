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
                imageDescription: { urls[$0].imageTitle },
                configure: { picture in
                    picture.imageIndicator = .tint
                    picture.errorPlaceholder = .icon("image-missing-symbolic")
                    pictures.insert(picture)
                },
                request: { position in ImageRequest(url: urls[position]) }
            )
            let grid = gtk_grid_view_new(gtk_no_selection_new(model), nil)!
            gtk_grid_view_set_factory(OpaquePointer(grid), factory.nativeFactory)
            return grid

            ListPrefetcher(view: WidgetPointer(grid)) { position in
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
