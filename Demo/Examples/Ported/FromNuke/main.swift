// A list of photographs that was written with Nuke, ported with MigratingFromNuke.md alone. Each line stands below the one
// that it replaces: swift run example-from-nuke
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import PortedTable

func configureImages() {
    // ImagePipeline.shared = ImagePipeline(delegate: PipelineDelegate()) {
    var configuration = ImageManager.Configuration()
    //     $0.dataCache = try? DataCache(name: "photographs")
    configuration.diskCache = ImageManager.Configuration.DiskCache(namespace: "photographs")
    //     ($0.dataCache as? DataCache)?.sizeLimit = 100_000_000
    configuration.diskCache?.maximumByteCount = 100_000_000
    //     $0.imageCache = ImageCache(costLimit: 64 << 20, countLimit: 500)
    configuration.maximumMemoryCacheByteCount = 64 << 20
    configuration.maximumMemoryCacheCount = 500
    //     $0.dataLoadingQueue.maxConcurrentOperationCount = 8
    var downloader = ImageDownloader.Configuration()
    downloader.maximumConcurrentTransfers = 8
    // }
    // class PipelineDelegate: ImagePipeline.Delegate {
    //     func willLoadData(for: ImageRequest, urlRequest: URLRequest, pipeline: ImagePipeline) async throws -> URLRequest {
    downloader.requestModifier = RequestModifier(key: "app") { request in
        //         var urlRequest = urlRequest
        var request = request
        //         urlRequest.setValue("photographs", forHTTPHeaderField: "X-App")
        request.headers["X-App"] = "photographs"
        //         return urlRequest
        return request
        //     }
    }
    //     func cacheKey(for request: ImageRequest, pipeline: ImagePipeline) -> String? { request.url?.path }
    configuration.cacheKeyFilter = CacheKeyFilter { url in url.path() }
    // }
    configuration.downloader = ImageDownloader(configuration: downloader)
    ImageManager.shared = ImageManager(configuration: configuration)
}

// class PhotographCell: UITableViewCell {
final class PhotographCell: PhotoCell {
    required init() {
        super.init()
        // var options = ImageLoadingOptions(transition: .fadeIn(duration: 0.2))
        imageView.imageTransition = .crossfade(duration: .milliseconds(200))
        // options.failureImage = UIImage(named: "failure")
        imageView.errorPlaceholder = .icon("image-missing-symbolic")
        // options.contentModes = .init(success: .scaleAspectFill, failure: .center, placeholder: .center)
        imageView.contentFit = .cover
    }

    // func show(_ photo: Photo) {
    override func show(_ photo: Photo) {
        // let request = ImageRequest(
        //     url: photo.url,
        var request = ImageRequest(url: photo.url)
        //     processors: [.resize(size: imageView.bounds.size, crop: true), .roundedCorners(radius: 12), .gaussianBlur(radius: 1)],
        request.transformer = .rounded(12) + .blur(1)
        //     priority: .high
        request.priority = .high
        // )
        // configuration.isProgressiveDecodingEnabled = true
        request.loading = .progressive
        // NukeExtensions.loadImage(
        imageView.setImage(
            //     with: request,
            with: request,
            //     options: options (placeholder: UIImage(named: "photograph")),
            placeholder: .icon("image-x-generic-symbolic"),
            //     into: imageView,
            //     progress: { _, completed, total in
            progress: { [weak self] completed, total in
                //         self?.textLabel?.text = "\(completed) of \(total)"
                self?.text = "\(completed) of \(total ?? 0)"
                //     },
            },
            //     completion: { result in
            completion: { [weak self] result in
                //         switch result {
                switch result {
                //         case .success(let response): self?.textLabel?.text = "\(photo.title), \(response.cacheType)"
                case .success(let response): self?.text = "\(photo.title), \(response.source)"
                case .failure(let error) where error.isCancelled: return
                //         case .failure(let error): self?.textLabel?.text = "\(error)"
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
        // NukeExtensions.cancelRequest(for: imageView)
        imageView.cancelImageLoad()
    }
}

guard gtk_init_check() != 0 else { fatalError("There is no display.") }
configureImages()
let server = try PhotoServer()
let photos = server.photos
let table = PhotoTable("From Nuke", photos, cell: PhotographCell.self)

// let prefetcher = ImagePrefetcher(destination: .diskCache, maxConcurrentRequestCount: 4)
let prefetcher = ImagePrefetcher(manager: .shared, maximumConcurrentCount: 4)
// func tableView(_: UITableView, prefetchRowsAt rows: [IndexPath]) { prefetcher.startPrefetching(with: rows.map(url)) }
// func tableView(_: UITableView, cancelPrefetchingForRowsAt rows: [IndexPath]) { prefetcher.stopPrefetching(with: rows.map(url)) }
let listPrefetcher = ListPrefetcher(view: WidgetPointer(table.listView), prefetcher: prefetcher) { position in
    ImageRequest(url: photos[position].url)
}
// prefetcher.didComplete = { statusLabel.text = "prefetched" }
// prefetcher.startPrefetching(with: photos.suffix(5).map(\.url))
prefetcher.prefetch(photos.suffix(5).map(\.url), to: .disk) { _ in table.statusText = "prefetched" }

table.addButton("Clear memory") {
    // ImageCache.shared.removeAll()
    await ImageManager.shared.cache.removeAll(from: .memory)
}

table.addButton("Clear all") {
    // ImagePipeline.shared.cache.removeCachedImage(for: ImageRequest(url: photos[0].url))
    await ImageManager.shared.cache.remove(photos[0].url)
    // ImagePipeline.shared.cache.removeAll()
    await ImageManager.shared.cache.removeAll()
    // let isCached = ImagePipeline.shared.cache.containsCachedImage(for: ImageRequest(url: photos[0].url))
    let isCached = await !ImageManager.shared.cache.tiers(containing: photos[0].url).isEmpty
    // statusLabel.text = "cached: \(isCached)"
    table.statusText = "cached: \(isCached)"
}

table.addButton("Load one") {
    // let request = ImageRequest(url: photos[0].url, options: [.reloadIgnoringCachedData], userInfo: [.imageIdKey: "first"])
    var request = ImageRequest(url: photos[0].url, cachePolicy: .reload)
    request.cacheKey = "first"
    // let task = ImagePipeline.shared.imageTask(with: request)
    // for await progress in task.progress { statusLabel.text = "\(progress.completed)" }
    for await update in ImageManager.shared.updates(for: request) {
        switch update {
        case .progress(let completed, _): table.statusText = "\(completed)"
        case .partial: break
        // let image = try await task.image; statusLabel.text = "\(image.size)"
        case .finished(let result):
            table.statusText = (try? result.get())?.image.pixelSize.description ?? "no image"
        }
    }
}

withExtendedLifetime((server, listPrefetcher)) { table.run() }
