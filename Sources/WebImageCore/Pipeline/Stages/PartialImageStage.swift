import FoundationEssentials

/// A helper of stages 4 and 5, on the decode queue: shows partial images to the tasks of a job. Before a whole file is
/// decoded, it shows the thumbnail in the file or beside it.
struct PartialImageStage: PipelineStage {
    let context: StageContext

    /// Submits the thumbnail in a file for a job that shows partial images and has not shown one yet.
    func submitThumbnail(of data: FetchedData, for id: JobGraph.Job.ID, priority: ImagePriority) {
        guard maker.mayHaveThumbnail(data.format) else { return }
        // Decoding a thumbnail takes less than a millisecond, so it may run before waiting decodes.
        decodeQueue.submit(priority: priority, isResumed: true) { self.showThumbnail(in: data.loaded.data, for: id) }
    }

    /// Shows the thumbnail that another program has made of the file of a job, if there is one.
    func findThumbnail(of job: JobGraph.Job.ID, with loader: LocalLoader) {
        guard
            let (request, size, priority) = graph.withLock({ graph in
                graph.jobs[job].flatMap { $0.wantsThumbnail ? ($0.request, $0.key.size, $0.priority) : nil }
            })
        else { return }
        loader.findThumbnail(of: request.url, longestSide: size.longestSide, priority: priority) { thumbnail in
            self.decodeQueue.submit(priority: priority, isResumed: true) {
                self.showThumbnail(for: job) { thumbnail.image(maker.decodeOptions($0), context.dependencies.coders) }
            }
        }
    }

    /// Whether a job would show the thumbnail in a file that begins with these bytes.
    func wantsThumbnail(_ job: JobGraph.Job, head: Data) -> Bool {
        job.wantsThumbnail && job.tasks.contains(where: \.wantsThumbnail)
            && maker.mayHaveThumbnail(ImageFormat(sniffing: head))
    }

    /// Shows the thumbnail in a file, or in the part of it that has arrived.
    func showThumbnail(in data: Data, for id: JobGraph.Job.ID) {
        showThumbnail(for: id) { maker.thumbnail(in: data, for: $0) }
    }

    private func showThumbnail(for id: JobGraph.Job.ID, _ make: (ImageRequest) -> WebImage?) {
        guard let job = graph.job(id), job.wantsThumbnail, job.tasks.contains(where: \.wantsThumbnail),
            let image = make(job.request)
        else { return }
        show(image, to: id, job, at: clock.now)
    }

    /// Shows a partial image to the tasks of a job.
    func show(_ image: WebImage, to id: JobGraph.Job.ID, _ job: JobGraph.Job, at time: Date) {
        // Rectangles and radii of a transformer apply to the image at its full size.
        let hasSize = !image.isThumbnail || image.pixelSize == image.decodedSize
        guard hasSize || job.request.transformer == nil, !image.isThumbnail || job.wantsThumbnail,
            let changed = try? maker.transform(blurred(image, of: id, job), for: job.request)
        else { return }
        job.tasks.lazy.compactMap(\.request.preparation).first?.prepare(changed)
        let tasks = graph.withLock { graph in
            graph.updateProgressiveDecoding(of: id) { decoding in
                if image.isThumbnail { decoding.hasThumbnail = true } else { decoding.lastPartial = time }
            }
            return graph.jobs[id]?.tasks ?? []
        }
        observers.notify(job.request.url, .partial)
        for task in tasks where !image.isThumbnail || task.wantsPartialImages {
            task.report(partial: changed, as: image.isThumbnail ? .thumbnail : .partial)
        }
    }

    /// The partial image to show, blurred if the request asks for it.
    private func blurred(_ image: WebImage, of id: JobGraph.Job.ID, _ job: JobGraph.Job) -> WebImage {
        guard job.key.progressiveOptions?.isBlurred == true else { return image }
        let share = graph.withLock { $0.arrivedShare(of: id, pixelCount: image.naturalSize.pixelCount) }
        return image.blurred(arrived: share, keepsSize: job.request.transformer != nil)
    }
}
