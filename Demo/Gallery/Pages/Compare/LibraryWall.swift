import FoundationEssentials
import GtkWebImage

/// The wall that the library binds.
@MainActor
final class LibraryWall: ComparedWall {
    private let wall: ImageWall
    private let manager: ImageManager
    /// Made from all images of the server, which takes a moment.
    private var checker: CellChecker?

    init(_ wall: ImageWall, manager: ImageManager, server: ImageServer) {
        (self.wall, self.manager) = (wall, manager)
        Task { [weak self] in
            let signatures = await ImageSignatures(folder: server.folder, names: server.names)
            self?.checker = signatures.map { CellChecker($0) }
        }
    }

    var grid: WallGrid { wall.grid }

    var cellsInView: [ComparedCell] {
        wall.picturesInView.map { picture in
            let url = wall.itemURL(in: picture)
            guard let checker, let url else {
                let isEmpty = CellTexture(picture.widget) == nil
                return ComparedCell(url: url, content: isEmpty ? .nothing : .unknown)
            }
            return ComparedCell(url: url, content: checker.content(of: picture.widget, itemURL: url))
        }
    }

    var pixelByteCount: Int { manager.cache.memoryStatistics.byteCount }

    /// Whether the prefetcher has nothing to do either.
    var isAtRest: Bool { checker != nil && wall.isAtRest && manager.runningTasks.isEmpty }
}
