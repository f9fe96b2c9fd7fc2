/// A group of pages in the sidebar.
@MainActor
struct PageGroup {
    /// A page with the icon beside its title.
    struct Entry {
        let page: Page
        /// The name of the icon, without "-symbolic".
        let icon: String
    }

    let title: String
    let entries: [Entry]

    /// All groups in the order of the sidebar.
    static var all: [PageGroup] {
        [
            PageGroup(
                title: tr("Basics"),
                entries: [
                    Entry(page: .compare, icon: "view-dual"), Entry(page: .wall, icon: "view-grid"),
                    Entry(page: .buttons, icon: "input-mouse"),
                    Entry(page: .sizes, icon: "zoom-fit-best"), Entry(page: .builder, icon: "text-x-generic"),
                    Entry(page: .links, icon: "insert-link"),
                    Entry(page: .accessibility, icon: "preferences-desktop-accessibility"),
                ]
            ),
            PageGroup(
                title: tr("Loading"),
                entries: [
                    Entry(page: .placeholders, icon: "image-x-generic"),
                    Entry(page: .progressive, icon: "content-loading"),
                    Entry(page: .formats, icon: "package-x-generic"), Entry(page: .failures, icon: "dialog-warning"),
                    Entry(page: .prefetching, icon: "folder-download"),
                ]
            ),
            PageGroup(
                title: tr("Looks"),
                entries: [
                    Entry(page: .animation, icon: "media-playback-start"),
                    Entry(page: .transformers, icon: "applications-graphics"),
                    Entry(page: .transitions, icon: "media-playlist-shuffle"),
                ]
            ),
            PageGroup(
                title: tr("Inside"),
                entries: [
                    Entry(page: .caches, icon: "drive-harddisk"), Entry(page: .zoom, icon: "zoom-in"),
                ]
            ),
        ]
    }
}
