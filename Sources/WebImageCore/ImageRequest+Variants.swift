import FoundationEssentials

extension ImageVariants: ImageRequestConvertible {
    /// A request that chooses the fitting variant when it is loaded.
    public var imageRequest: ImageRequest {
        var request = ImageRequest(url: url)
        request.variants = self
        return request
    }
}

// The choice of a variant. All stages look at the request after the choice.
extension ImageRequest {
    /// Turns the request into one for the variant that fits its size.
    mutating func choose(from variants: ImageVariants, _ filter: CacheKeyFilter?) {
        let before = variantChoice
        guard let rank = variants.rank(for: variantSize ?? resolvedDecodeSize, displayScale: displayScale) else {
            url = variants.url
            return
        }
        // A request that was prepared before has the key of the variant chosen then.
        let keys =
            before?.keys
            ?? (cacheKey ?? variants.cacheName { filter?.key(for: $0) }).map { .named($0) } ?? filter.map { filter in
                .filtered { filter.key(for: $0) }
            } ?? .urls
        take(rank, of: variants, keys)
    }

    /// The request for the file of a style.
    package func inStyle(isDark: Bool) -> ImageRequest {
        guard isDark, let dark = darkURL else { return self }
        var request = self
        request.forgetVariants()
        request.url = dark
        request.cacheKey = cacheKey.map { "dark \($0)" }
        (request.darkURL, request.previewURL, request.lowDataURL) = (nil, nil, nil)
        return request
    }

    /// Whether a part of the request is meant only for the host of its URL, or the image comes from another source.
    var isForHostOfURL: Bool {
        guard hasRareAttributes else { return false }
        if loader != nil { return true }
        guard let options = boxedNetworkOptions?.value else { return false }
        return !options.headers.isEmpty || options.credential != nil || options.requestModifier != nil
    }

    /// Resets the choice of a variant, for another URL.
    mutating func forgetVariants() {
        guard hasRareAttributes else { return }
        if let choice = variantChoice {
            if cacheKey == choice.key { cacheKey = nil }
            variantChoice = nil
        }
        if variants != nil { variants = nil }
    }

    /// The rank of the chosen variant, the smallest first; `nil` without variants.
    package var variantRank: Int? { hasRareAttributes ? variantChoice?.rank : nil }

    /// The ranks of the larger variants.
    var largerVariants: Range<Int> {
        guard hasRareAttributes, let choice = variantChoice else { return 0..<0 }
        return choice.rank + 1..<choice.variants.ranks.upperBound
    }

    /// The request for another variant of the image.
    func with(variant rank: Int) -> ImageRequest {
        guard let choice = variantChoice else { return self }
        var request = self
        request.take(rank, of: choice.variants, choice.keys)
        return request
    }

    /// The request that looks for another variant in the caches. Computing the URL of the variant may take time, so the
    /// URL is kept if it makes no difference.
    func reading(variant rank: Int) -> ImageRequest {
        guard let choice = variantChoice else { return self }
        guard case .named(let name) = choice.keys else { return with(variant: rank) }
        var request = self
        request.setFile(
            url,
            key: "\(name) \(choice.variants.descriptor(at: rank).label)",
            scale: choice.variants.descriptor(at: rank).scale(on: displayScale)
        )
        return request
    }

    /// The keys of all variants, of the image itself and of this request.
    var sourceKeys: [String] {
        guard hasRareAttributes, let choice = variantChoice else { return [sourceKey] }
        var keys = choice.variants.ranks.map { reading(variant: $0).sourceKey }
        let url = choice.variants.url
        switch choice.keys {
        case .urls: break
        case .named(let name): keys.append(name)
        case .filtered(let key): key(url).map { keys.append($0) }
        }
        return keys + [url.textForKeys]
    }

    private mutating func take(_ rank: Int, of variants: ImageVariants, _ keys: VariantChoice.Keys) {
        let descriptor = variants.descriptor(at: rank)
        let url = variants.url(at: rank)
        let key: String? =
            switch keys {
            case .urls: nil
            case .named(let name): "\(name) \(descriptor.label)"
            case .filtered(let key): key(url).map { "\($0) \(descriptor.label)" }
            }
        variantChoice = VariantChoice(variants: variants, keys: keys, rank: rank, url: url, key: key)
        setFile(url, key: key, scale: descriptor.scale(on: displayScale))
    }
}

extension ImageVariants.Descriptor {
    /// The scale of the file on a screen, if its URL does not state one. A file that was chosen by its width has the
    /// pixels of the screen, so the image needs the same room on every screen.
    fileprivate func scale(on displayScale: Double?) -> Double? {
        switch self {
        case .width: displayScale.flatMap(WebImage.validScale)
        case .density(let density): WebImage.validScale(density)
        case .full: nil
        }
    }
}
