import ArgumentParser
import Foundation
import GtkWebImage
import TestSupport
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Measures what decoding in workers costs beside decoding in the process of the app.
struct Sandbox: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Decoding in workers beside decoding in the app's process: a cold list, a GIF, the first image, memory."
    )

    @Option(help: "The number of images of the list.")
    var count = 500
    @Option(help: "The format of the list: jpeg, png or webp.")
    var format = "jpeg"
    @Option(help: "The number of rounds.")
    var rounds = 7
    @Option(help: "The seconds for which the GIF plays.")
    var seconds = 10.0
    @Option(help: "The number of starts of each kind.")
    var starts = 9

    func run() throws {
        try Broadway.run(measure)
        if starts > 0 { try measureStarts() }
    }

    @MainActor
    private func measure() throws {
        try measureList()
        try measureAnimation()
        let memory = (DecodeSandbox.shared?.processes ?? []).map { OwnProcess.privateMegabytes(of: $0) }
        print("private memory of each worker: \(memory.map { Rounds.format($0) }.joined(separator: ", ")) MB")
        Limits.check("private memory of a worker, MB", memory.max() ?? .infinity, atMost: 16)
    }

    // A cold list

    @MainActor
    private func measureList() throws {
        let (server, urls) = try Photograph.serve(count: count, images: try images())
        var (walls, processors) = (Rounds(), Rounds())
        // The workers are there, as after the start of an app.
        DecodeSandbox.shared?.prepare()
        for _ in 0..<rounds {
            for decoding in [ImageManager.Configuration.Decoding.inProcess, .sandboxed] {
                let (wall, cpu) = load(urls, decoding)
                walls.add("\(decoding)", seconds: wall)
                processors.add("\(decoding)", seconds: cpu)
            }
        }
        let (wall, cpu) = (walls.ratio("sandboxed", to: "inProcess"), processors.ratio("sandboxed", to: "inProcess"))
        print("\(count) images (\(format)) at 256x192 without a disk cache, \(rounds) rounds")
        print("wall:\n\(walls.table())\nCPU:\n\(processors.table())")
        print("sandboxed to in process: wall \(Rounds.format(wall)), CPU \(Rounds.format(cpu))")
        Limits.check("sandboxed list to one in process, wall", wall, atMost: 1.15)
        Limits.check("sandboxed list to one in process, CPU", cpu, atMost: 1.15)
        withExtendedLifetime(server) {}
    }

    private func images() throws -> [Data]? {
        switch format {
        case "jpeg": nil
        case "png": (0..<4).map { Photograph.file(seed: $0, size: Photograph.size, format: .png) }
        case "webp":
            try (0..<8).map { seed in
                let image = try WebImage(data: Photograph.jpeg(seed: seed))
                return try image.data(as: .webp)
            }
        default: throw ValidationError("The format is jpeg, png or webp.")
        }
    }

    @MainActor
    private func load(_ urls: [URL], _ decoding: ImageManager.Configuration.Decoding) -> (wall: Double, cpu: Double) {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.downloader = ImageDownloader()
        configuration.decoding = decoding
        let manager = ImageManager(configuration: configuration)
        var (done, failures) = (0, 0)
        var images: [WebImage] = []
        let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds)
        for url in urls {
            let request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 256, height: 192)))
            manager.load(request) { result in
                done += 1
                if case .success(let response) = result { images.append(response.image) } else { failures += 1 }
            }
        }
        _ = MainLoopPump.run(until: { done == urls.count }, timeout: .seconds(300))
        precondition(done == urls.count && failures == 0, "\(failures) images failed")
        return withExtendedLifetime(images) {
            ((.now - start) / .seconds(1), OwnProcess.cpuSeconds - cpu)
        }
    }

    // A GIF

    @MainActor
    private func measureAnimation() throws {
        guard let sandbox = DecodeSandbox.shared else { throw ValidationError("There is no sandbox.") }
        let folder = TemporaryDirectory()
        let gif = try Animation.gif(in: folder.path)
        let coders = [
            ("in process", CoderRegistry.builtIn),
            ("sandboxed", CoderRegistry.builtIn(adding: [], sandbox: (sandbox, isOptional: false))),
        ]
        var costs: [Double] = []
        for (name, coders) in coders {
            let paintable = ImagePaintable()
            let image = try coders.decode(gif)
            // The worker for frames is there, as after the first animation.
            _ = try image.animation?.makeDecoder().frame(at: 0)
            paintable.setImage(image)
            let draw = Playing.drawing(paintable)
            let (end, cpu) = (ContinuousClock.now + .seconds(seconds), OwnProcess.cpuSeconds)
            var shown: Set<Int> = []
            // A screen draws sixty frames a second.
            while ContinuousClock.now < end {
                let next = ContinuousClock.now + .microseconds(16_667)
                _ = MainLoopPump.run(until: { ContinuousClock.now >= next })
                draw()
                if let player = paintable.imageBinding.player { shown.insert(player.currentFrameIndex) }
            }
            costs.append(OwnProcess.cpuSeconds - cpu)
            print("GIF, \(name): \(Rounds.format(costs.last ?? 0)) CPU s, \(shown.count) frames")
        }
        print("GIF, sandboxed to in process: \(Rounds.format(costs[1] / costs[0]))")
        Limits.check("sandboxed GIF to one in process, CPU", costs[1] / costs[0], atMost: 1.4)
    }

    // The start of an app

    private func measureStarts() throws {
        var startup = try Startup.parse([])
        startup.rounds = starts
        let found = try startup.compareDecoding()
        print("first image of an app: \(Rounds.format(found)) ms later with workers")
        Limits.check("first image of an app with workers, ms later", found, atMost: 50)
    }
}
