import GtkWebImage
import GtkWebImageWidgets

// The samples of Accessibility.md, compiled. What they do not declare is a parameter here.

@MainActor
private func describe(picture: Picture) {
    picture.setImageDescription("A lighthouse")
}

@MainActor
private func translate() {
    ImageAccessibility.failureDescription = "Das Bild konnte nicht geladen werden"
}
