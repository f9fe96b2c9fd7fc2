import Synchronization
public import WebImageCore

extension ImagePrefetcher {
    private static let sharedPrefetcher = Mutex<ImagePrefetcher?>(nil)

    /// A prefetcher for ImageManager/shared.
    public static var shared: ImagePrefetcher {
        let manager = ImageManager.shared
        return sharedPrefetcher.withLock { prefetcher in
            if let prefetcher, prefetcher.manager === manager { return prefetcher }
            let made = ImagePrefetcher(manager: manager)
            prefetcher = made
            return made
        }
    }
}
