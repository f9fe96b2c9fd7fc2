// A list of photographs that was written with SDWebImage, ported with MigratingFromSDWebImage.md and SDWebImageNames.md alone.
// Each line stands below the one that it replaces: swift run example-from-sdwebimage
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import PortedTable

/// The signature of the photographs' URLs is no part of their keys.
// class TokenFilter: NSObject, SDWebImageCacheKeyFilterProtocol {
//     func cacheKey(for url: URL) -> String? { url.host! + url.path }
// }
let tokenFilter = CacheKeyFilter { url in (url.host() ?? "") + url.path() }

func configureImages() {
    // let cache = SDImageCache(namespace: "photographs")
    var configuration = ImageManager.Configuration()
    configuration.diskCache = ImageManager.Configuration.DiskCache(namespace: "photographs")
    // cache.config.maxMemoryCost = 64 << 20
    configuration.maximumMemoryCacheByteCount = 64 << 20
    // cache.config.maxDiskSize = 100_000_000
    configuration.diskCache?.maximumByteCount = 100_000_000
    // cache.config.maxDiskAge = 30 * 86_400
    configuration.diskCache?.maximumAge = .seconds(30 * 86_400)
    // cache.config.diskCacheExpireType = .modificationDate
    configuration.diskCache?.expiry = .stored
    // let downloader = SDWebImageDownloader.shared
    var downloader = ImageDownloader.Configuration()
    // downloader.config.maxConcurrentDownloads = 8
    downloader.maximumConcurrentTransfers = 8
    // downloader.config.downloadTimeout = 20
    downloader.idleTimeout = .seconds(20)
    // downloader.config.executionOrder = .lifoExecutionOrder
    downloader.transferOrder = .lastInFirstOut
    // downloader.setValue("photographs", forHTTPHeaderField: "X-App")
    downloader.headers["X-App"] = "photographs"
    // downloader.requestModifier = SDWebImageDownloaderRequestModifier(headers: ["Referer": "https://example.org"])
    downloader.requestModifier = .headers(["Referer": "https://example.org"])
    configuration.downloader = ImageDownloader(configuration: downloader)
    // SDWebImageManager.shared.cacheKeyFilter = TokenFilter()
    configuration.cacheKeyFilter = tokenFilter
    // SDWebImageManager.shared = SDWebImageManager(cache: cache, loader: downloader)
    ImageManager.shared = ImageManager(configuration: configuration)
}

// class PhotographCell: UITableViewCell {
final class PhotographCell: PhotoCell {
    required init() {
        super.init()
        // imageView.sd_imageTransition = .fade(duration: 0.2)
        imageView.imageTransition = .crossfade(duration: .milliseconds(200))
        // imageView.sd_imageIndicator = SDWebImageProgressIndicator.default
        imageView.imageIndicator = .progress
        // imageView.contentMode = .scaleAspectFill
        imageView.contentFit = .cover
    }

    // func show(_ photo: Photo) {
    override func show(_ photo: Photo) {
        // let resize = SDImageResizingTransformer(size: CGSize(width: 320, height: 240), scaleMode: .aspectFill)
        let resize = ImageTransformer.resize(to: PixelSize(width: 320, height: 240), mode: .cover)
        // let round = SDImageRoundCornerTransformer(radius: 12, corners: .allCorners, borderWidth: 1, borderColor: .white)
        let round = ImageTransformer.rounded(12, corners: .all, border: ImageBorder(width: 1, color: .white))
        // let rotate = SDImageRotationTransformer(angle: -.pi / 60, fitSize: true)
        let rotate = ImageTransformer.rotate(degrees: 3, growsToFit: true)
        //     context: [.imageTransformer: SDImagePipelineTransformer(transformers: [resize, round, rotate])],
        var request = ImageRequest(url: photo.url, transformer: resize + round + rotate)
        //     options: [.progressiveLoad, .retryFailed, .delayPlaceholder],
        (request.loading, request.rememberedFailure) = (.progressive, .ignored)
        // imageView.sd_setImage(
        imageView.setImage(
            //     with: photo.url,
            with: request,
            //     placeholderImage: UIImage(named: "photograph"),
            placeholder: .icon("image-x-generic-symbolic"),
            options: BindingOptions(whileLoading: .currentImage),
            //     progress: { received, expected, _ in
            progress: { [weak self] received, expected in
                //         DispatchQueue.main.async { self?.textLabel?.text = "\(received) of \(expected)" }
                self?.text = "\(received) of \(expected ?? 0)"
                //     },
            },
            //     completed: { image, error, cacheType, _ in
            completion: { [weak self] result in
                switch result {
                //         if let image { self?.textLabel?.text = "\(photo.title), \(image.size), \(cacheType)" }
                case .success(let response):
                    self?.text = "\(photo.title), \(response.image.pixelSize), \(response.source)"
                //         if (error as? SDWebImageError)?.code == .cancelled { return }
                case .failure(let error) where error.isCancelled: return
                //         if let error { self?.textLabel?.text = error.localizedDescription }
                case .failure(let error): self?.text = error.reason
                }
                //     }
            }
            // )
        )
    }

    // override func prepareForReuse() {
    override func prepareForReuse() {
        // imageView.sd_cancelCurrentImageLoad()
        imageView.cancelImageLoad()
    }
}

guard gtk_init_check() != 0 else { fatalError("There is no display.") }
configureImages()
let server = try PhotoServer()
let photos = server.photos
let table = PhotoTable("From SDWebImage", photos, cell: PhotographCell.self)

// func tableView(_ tableView: UITableView, prefetchRowsAt indexPaths: [IndexPath]) {
//     SDWebImagePrefetcher.shared.prefetchURLs(indexPaths.map { photos[$0.row].url })
// }
let listPrefetcher = ListPrefetcher(view: WidgetPointer(table.listView)) { position in
    ImageRequest(url: photos[position].url)
}

// SDWebImagePrefetcher.shared.prefetchURLs(photos.suffix(5).map(\.url), progress: nil) { finished, skipped in
ImagePrefetcher.shared.prefetch(photos.suffix(5).map(\.url)) { result in
    // statusLabel.text = "\(finished) prefetched, \(skipped) skipped"
    table.statusText = "\(result.loadedCount) prefetched, \(result.failedCount) skipped"
}

table.addButton("Clear memory") {
    // SDImageCache.shared.clearMemory()
    await ImageManager.shared.cache.removeAll(from: .memory)
}

table.addButton("Clear all") {
    // SDImageCache.shared.removeImage(forKey: key, fromDisk: true) {}
    await ImageManager.shared.cache.remove(photos[0].url)
    // SDImageCache.shared.clearDisk {}
    await ImageManager.shared.cache.removeAll(from: .disk)
    // SDImageCache.shared.calculateSize { count, size in
    let usage = await ImageManager.shared.cache.diskUsage()
    // statusLabel.text = "\(count) files, \(size) bytes"
    table.statusText = "\(usage.count) files, \(usage.byteCount) bytes"
}

table.addButton("Load one") {
    // SDWebImageManager.shared.loadImage(with: photos[0].url, options: .fromLoaderOnly, progress: nil) { image, ... in
    let request = ImageRequest(url: photos[0].url, cachePolicy: .reload)
    // statusLabel.text = "\(image?.size ?? .zero)"
    table.statusText = (try? await ImageManager.shared.image(for: request))?.pixelSize.description ?? "no image"
}

withExtendedLifetime((server, listPrefetcher)) { table.run() }
