/// A group of pages in the sidebar.
@MainActor
struct PageGroup {
    /// A page with the icon beside its title.
    struct Entry {
        let page: Page
        let icon: String

        init(_ page: Page, icon: String) {
            self.page = page
            self.icon = "\(icon)-symbolic"
        }
    }

    let title: String
    let entries: [Entry]

    /// All groups in the order of the sidebar.
    static var all: [PageGroup] {
        [
            PageGroup(
                title: tr("Basics"),
                entries: [
                    Entry(.compare, icon: "view-dual"), Entry(.wall, icon: "view-grid"),
                    Entry(.buttons, icon: "input-mouse"),
                    Entry(.sizes, icon: "zoom-fit-best"), Entry(.builder, icon: "text-x-generic"),
                    Entry(.links, icon: "insert-link"),
                    Entry(.accessibility, icon: "preferences-desktop-accessibility"),
                ]
            ),
            PageGroup(
                title: tr("Loading"),
                entries: [
                    Entry(.placeholders, icon: "image-x-generic"), Entry(.progressive, icon: "content-loading"),
                    Entry(.formats, icon: "package-x-generic"), Entry(.failures, icon: "dialog-warning"),
                    Entry(.prefetching, icon: "folder-download"),
                ]
            ),
            PageGroup(
                title: tr("Looks"),
                entries: [
                    Entry(.animation, icon: "media-playback-start"),
                    Entry(.transformers, icon: "applications-graphics"),
                    Entry(.transitions, icon: "media-playlist-shuffle"),
                ]
            ),
            PageGroup(
                title: tr("Inside"),
                entries: [
                    Entry(.caches, icon: "drive-harddisk"), Entry(.zoom, icon: "zoom-in"),
                ]
            ),
        ]
    }
}
