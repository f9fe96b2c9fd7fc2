import FoundationEssentials
import GtkWebImage

// The samples of Performance.md, compiled. What they do not declare is a parameter here.

private func prefetch(urls: [URL], scale: Int) {
    let size = PixelSize(width: 160 * scale, height: 120 * scale)
    let requests = urls.map { ImageRequest(url: $0, priority: .veryLow, decodeSize: .cover(size)) }
    ImagePrefetcher.shared.prefetch(requests) { result in print(result.loadedCount) }
}

private func watch(
    url: URL
) async throws {
    let response = try await ImageManager.shared.response(for: ImageRequest(url: url))
    print(response.source, response.durations.reading, response.durations.decoding)
    print(response.metrics?.firstByte ?? .zero, response.metrics?.receivedByteCount ?? 0)

    let steps = ImageManager.shared.traceEvents()
    Task { for await step in steps { print(step.kind, step.url) } }
}
