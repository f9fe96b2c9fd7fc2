// A list of photographs that was written with Kingfisher, ported with MigratingFromKingfisher.md alone. Each line stands below
// the one that it replaces: swift run example-from-kingfisher
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import PortedTable

func configureImages() {
    // let cache = ImageCache(name: "photographs")
    var configuration = ImageManager.Configuration()
    configuration.diskCache = ImageManager.Configuration.DiskCache(namespace: "photographs")
    // cache.memoryStorage.config.totalCostLimit = 64 << 20
    configuration.maximumMemoryCacheByteCount = 64 << 20
    // cache.memoryStorage.config.countLimit = 500
    configuration.maximumMemoryCacheCount = 500
    // cache.diskStorage.config.sizeLimit = 100_000_000
    configuration.diskCache?.maximumByteCount = 100_000_000
    // cache.diskStorage.config.expiration = .days(30)
    configuration.diskCache?.maximumAge = .seconds(30 * 86_400)
    // let downloader = ImageDownloader(name: "photographs")
    var downloader = ImageDownloader.Configuration()
    // downloader.downloadTimeout = 20
    downloader.idleTimeout = .seconds(20)
    // let modifier = AnyModifier { request in
    downloader.requestModifier = RequestModifier(key: "app") { request in
        //     var request = request
        var request = request
        //     request.setValue("photographs", forHTTPHeaderField: "X-App")
        request.headers["X-App"] = "photographs"
        //     return request
        return request
        // }
    }
    configuration.downloader = ImageDownloader(configuration: downloader)
    // let retry = DelayRetryStrategy(maxRetryCount: 3, retryInterval: .seconds(1))
    configuration.retryPolicy.maximumCount = 3
    configuration.retryPolicy.initialDelay = .seconds(1)
    // KingfisherManager.shared = KingfisherManager(downloader: downloader, cache: cache)
    ImageManager.shared = ImageManager(configuration: configuration)
}

// class PhotographCell: UITableViewCell {
final class PhotographCell: PhotoCell {
    required init() {
        super.init()
        // imageView.kf.indicatorType = .activity
        imageView.imageIndicator = .activity
        // .transition(.fade(0.2))
        imageView.imageTransition = .crossfade(duration: .milliseconds(200))
        // .onFailureImage(UIImage(named: "failure"))
        imageView.errorPlaceholder = .icon("image-missing-symbolic")
        // imageView.contentMode = .scaleAspectFill
        imageView.contentFit = .cover
    }

    // func show(_ photo: Photo) {
    override func show(_ photo: Photo) {
        // let processor = DownsamplingImageProcessor(size: imageView.bounds.size)
        //     |> RoundCornerImageProcessor(cornerRadius: 12)
        //     |> ColorControlsProcessor(brightness: 0, contrast: 1.1, saturation: 1.2, inputEV: 0)
        let processor = ImageTransformer.rounded(12) + .contrast(1.1) + .saturation(1.2)
        // let resource = KF.ImageResource(downloadURL: photo.url, cacheKey: photo.url.path)
        var resource = ImageRequest(url: photo.url)
        resource.cacheKey = photo.url.path()
        // .alternativeSources([.network(photo.smallURL)])
        resource.fallbackURLs = [photo.smallURL]
        // .lowDataMode(.network(photo.smallURL))
        resource.lowDataURL = photo.smallURL
        //     options: [.processor(processor), .progressiveJPEG(ImageProgressive()), .keepCurrentImageWhileLoading],
        (resource.transformer, resource.loading) = (processor, .progressive)
        // imageView.kf.setImage(
        imageView.setImage(
            //     with: resource,
            with: resource,
            //     placeholder: UIImage(named: "photograph"),
            placeholder: .icon("image-x-generic-symbolic"),
            options: BindingOptions(whileLoading: .currentImage),
            //     progressBlock: { received, total in
            progress: { [weak self] received, total in
                //         self?.textLabel?.text = "\(received) of \(total)"
                self?.text = "\(received) of \(total ?? 0)"
                //     },
            },
            //     completionHandler: { result in
            completion: { [weak self] result in
                //         switch result {
                switch result {
                //         case .success(let value): self?.textLabel?.text = "\(photo.title), \(value.cacheType)"
                case .success(let response): self?.text = "\(photo.title), \(response.source)"
                //         case .failure(let error) where error.isTaskCancelled || error.isNotCurrentTask: return
                case .failure(let error) where error.isCancelled: return
                //         case .failure(let error): self?.textLabel?.text = error.localizedDescription
                case .failure(let error): self?.text = error.reason
                //         }
                }
                //     }
            }
            // )
        )
    }

    // override func prepareForReuse() {
    override func prepareForReuse() {
        // imageView.kf.cancelDownloadTask()
        imageView.cancelImageLoad()
    }
}

guard gtk_init_check() != 0 else { fatalError("There is no display.") }
configureImages()
let server = try PhotoServer()
let photos = server.photos
let table = PhotoTable("From Kingfisher", photos, cell: PhotographCell.self)

// func tableView(_ tableView: UITableView, prefetchRowsAt indexPaths: [IndexPath]) {
//     ImagePrefetcher(urls: indexPaths.map { photos[$0.row].url }).start()
// }
let listPrefetcher = ListPrefetcher(view: WidgetPointer(table.listView)) { position in
    var resource = ImageRequest(url: photos[position].url)
    resource.cacheKey = photos[position].url.path()
    return resource
}

// let prefetcher = ImagePrefetcher(urls: photos.suffix(5).map(\.smallURL)) { skipped, failed, completed in
ImagePrefetcher.shared.prefetch(photos.suffix(5).map(\.smallURL)) { result in
    // statusLabel.text = "\(completed.count) prefetched, \(failed.count) failed"
    table.statusText = "\(result.loadedCount) prefetched, \(result.failedCount) failed"
}
// prefetcher.start()

table.addButton("Clear memory") {
    // ImageCache.default.clearMemoryCache()
    await ImageManager.shared.cache.removeAll(from: .memory)
}

table.addButton("Clear all") {
    // ImageCache.default.removeImage(forKey: photos[0].smallURL.cacheKey)
    await ImageManager.shared.cache.remove(photos[0].smallURL)
    // await ImageCache.default.cleanExpiredDiskCache()
    await ImageManager.shared.cache.removeExpired()
    // await ImageCache.default.clearDiskCache()
    await ImageManager.shared.cache.removeAll(from: .disk)
    // statusLabel.text = try await "\(ImageCache.default.diskStorageSize) bytes"
    table.statusText = "\(await ImageManager.shared.cache.diskUsage().byteCount) bytes"
}

table.addButton("Load one") {
    // let value = try await KingfisherManager.shared.retrieveImage(with: photos[0].url, options: [.forceRefresh])
    let request = ImageRequest(url: photos[0].url, cachePolicy: .reload)
    // statusLabel.text = "\(value.image.size)"
    table.statusText = (try? await ImageManager.shared.image(for: request))?.pixelSize.description ?? "no image"
}

withExtendedLifetime((server, listPrefetcher)) { table.run() }
