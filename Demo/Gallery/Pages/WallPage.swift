extension Page {
    static let wall = Page(
        id: "wall",
        title: tr("Wall"),
        summary: tr(
            "As many cells as fit, recycled while scrolling. Loads of cells that leave the screen are cancelled, and visible cells load first."
        ),
        uses: ["ImageListFactory(", "ListPrefetcher(", "ImageRequest(", "gtk_grid_view_set_factory"],
        isFilling: true,
        parts: ["ImageWall.swift", "WallGrid.swift", "LargeView.swift"]
    ) { context in
        let stage = WallStage(context)
        return PageContent(stage.widget, owner: stage) { stage.isAtRest }
    }
}
