internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageLinux
import WebImageTesting

private let colors: [UInt32] = [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00, 0x00FFFF, 0xFF00FF]

/// A stage whose server has animations at /gif/DURATION-LOOPS and /gif/DURATION-LOOPS-SCALE, likewise for png and webp.
@MainActor
func animatedStage() throws -> Stage {
    try Stage { request in
        let parts = request.path.split(separator: "/").last?.split(separator: "-").compactMap { Int($0) } ?? []
        let name = request.path.split(separator: "/").first.map(String.init) ?? ""
        guard let format = TestImage.AnimationFormat(rawValue: name), parts.count >= 2 else {
            return Stage.answer(request)
        }
        let file = TestImage.animation(
            colors,
            size: PixelSize(
                width: 60 * (parts.count > 2 ? parts[2] : 1),
                height: 40 * (parts.count > 2 ? parts[2] : 1)
            ),
            duration: .milliseconds(parts[0] * 10),
            loopCount: parts[1],
            format: format
        )
        return .ok(file, contentType: "image/\(name)")
    }
}

extension Scenario {
    static let animations: [Scenario] =
        TestImage.AnimationFormat.allCases.flatMap { [playsByItself($0), playsWhileItArrives($0)] } + otherAnimations

    private static func playsByItself(_ format: TestImage.AnimationFormat) -> Scenario {
        Scenario("An animation plays automatically, with each frame of the file in order: \(format.rawValue)") {
            let stage = try animatedStage()
            let picture = stage.addImage(width: 60, height: 40)
            stage.present()
            picture.setImage(
                with: stage.server.url("/\(format.rawValue)/5-1"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            expectEqual(player.frameCount, 6)
            var seen: [Int] = []
            expect(
                MainLoopPump.run(until: {
                    stage.waitForFrame()
                    let index = player.currentFrameIndex
                    if seen.last != index { seen.append(index) }
                    if let drawn = rendered(picture.widget), player.currentFrameIndex == index {
                        // The previous frame may still be drawn; it changes with the next frame of the window.
                        let expected = [colors[index], colors[max(index - 1, 0)]]
                        expect(expected.contains(drawn.color(0.5, 0.5)), "\(index)")
                    }
                    return player.isFinished
                })
            )
            expectEqual(seen, seen.sorted())
            expect(seen.count >= 3, "\(seen)")
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), 0xFF00FF)
            expectEqual(player.currentLoop, 1)
            // A still image of it never changes.
            let still = try require(gdk_paintable_get_current_image(gtk_picture_get_paintable(picture.widget.opaque)))
            expectEqual(WebImage(texture: still)?.color, 0xFF00FF)
            g_object_unref(UnsafeMutableRawPointer(still))
        }
    }

    private static func playsWhileItArrives(_ format: TestImage.AnimationFormat) -> Scenario {
        Scenario("A partial animation plays its frames, waits and resumes when more arrive: \(format.rawValue)") {
            let gate = ServerGate()
            let file = TestImage.animation(
                colors,
                size: PixelSize(width: 120, height: 80),
                duration: .milliseconds(100),
                format: format
            )
            let stage = try Stage { _ in
                var response = ServerResponse.ok(file, contentType: "image/\(format.rawValue)")
                response.faults.bodyGate = (afterBytes: file.count * 6 / 10, gate: gate)
                return response
            }
            let picture = stage.addImage(width: 120, height: 80)
            stage.present()
            var atEnd: Int?
            var partials: [Int] = []
            picture.setImage(
                with: ImageRequest(url: stage.server.url("/a"), loading: .progressive),
                partial: { partials.append($0.frameCount) },
                completion: { result in
                    atEnd = picture.imageBinding.player?.currentFrameIndex
                    stage.completion(result)
                }
            )
            // Three of six frames have arrived.
            let isThere = MainLoopPump.run(until: { picture.imageBinding.player?.currentFrameIndex == 2 })
            let state = picture.imageBinding.player.map {
                "\($0.currentFrameIndex) of \($0.frameCount), playing: \($0.isPlaying)"
            }
            expect(isThere, "\(state ?? "no player"); partial images of \(partials) frames")
            expectEqual(picture.imageBinding.player?.frameCount, 3)
            expect(MainLoopPump.run(until: { picture.imageBinding.player?.isFinished == true }))
            expect(stage.results.isEmpty, "\(stage.results)")
            // When the rest arrives
            gate.open()
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            expectEqual(player.frameCount, 6)
            expect(atEnd.map { $0 >= 2 } ?? false, "it went back to \(atEnd as Any)")
            expect(MainLoopPump.run(until: { player.currentFrameIndex > 2 }))
            expect(MainLoopPump.run(until: { player.currentLoop >= 1 }))
        }
    }

    private static let otherAnimations = [
        Scenario("An animation pauses while its widget is off screen and resumes from the same frame") {
            let stage = try animatedStage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.server.url("/gif/3-0"), completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            expect(MainLoopPump.run(until: { player.currentFrameIndex > 0 }))
            gtk_widget_set_visible(picture.widget, 0)
            let index = player.currentFrameIndex
            var changes = 0
            player.onFrame = { _ in changes += 1 }
            expect(!player.isRunning)
            MainLoopPump.runPending()
            expectEqual(changes, 0)
            expectEqual(player.currentFrameIndex, index)
            gtk_widget_set_visible(picture.widget, 1)
            expect(MainLoopPump.run(until: { changes > 2 }))
        },

        Scenario("An animation does not play with reduced motion, unless started by hand, nor with isFirstFrameOnly") {
            let stage = try animatedStage()
            stage.setAnimations(false)
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.server.url("/gif/3-0"), completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            expect(!player.isPlaying && !player.isRunning)
            expectEqual(player.currentFrameIndex, 0)
            // When the user turns animations on again
            stage.setAnimations(true)
            expect(MainLoopPump.run(until: { player.currentFrameIndex > 0 }))
            stage.setAnimations(false)
            expect(!player.isPlaying)
            // When the app wants this image to move all the same, and no longer
            let stopped = player.currentFrameIndex
            picture.imageBinding.playback.ignoresReducedMotion = true
            expect(player.isPlaying)
            expect(MainLoopPump.run(until: { player.currentFrameIndex != stopped }))
            picture.imageBinding.playback.ignoresReducedMotion = false
            expect(!player.isPlaying)
            // Then one that the app has started itself goes on, whatever else is set
            player.play()
            picture.imageBinding.playback.rate = 2
            expect(player.isPlaying)
            picture.imageBinding.playback = ImagePlayback()
            var still = ImageRequest(url: stage.server.url("/gif/3-0"))
            still.isFirstFrameOnly = true
            picture.setImage(
                with: still,
                completion: stage.completion
            )
            stage.waitForResults(2)
            expect(picture.imageBinding.player == nil)
            stage.setAnimations(true)
        },

        Scenario("An animation stands still while the user asks for less motion, which GTK can say since 4.22") {
            guard gtk_check_version(4, 22, 0) == nil else { throw Skipped(reason: "GTK is older than 4.22") }
            let stage = try animatedStage()
            stage.setSetting("gtk-interface-reduced-motion", 1)
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.server.url("/gif/3-0"), completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            expect(!player.isPlaying)
            stage.setSetting("gtk-interface-reduced-motion", 0)
            expect(MainLoopPump.run(until: { player.currentFrameIndex > 0 }))
            stage.setSetting("gtk-interface-reduced-motion", 1)
            expect(!player.isPlaying)
        },

        Scenario("An animation pauses in power-saver mode, unless configured otherwise") {
            let stage = try animatedStage()
            let picture = stage.addImage()
            stage.present()
            PlaybackEnvironment.isPowerSaving = { true }
            picture.setImage(with: stage.server.url("/gif/3-0"), completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            expect(!player.isPlaying)
            PlaybackEnvironment.isPowerSaving = { false }
            PlaybackEnvironment.reconsider()
            expect(MainLoopPump.run(until: { player.currentFrameIndex > 0 }))
            PlaybackEnvironment.isPowerSaving = { true }
            PlaybackEnvironment.reconsider()
            expect(!player.isPlaying)
            // What is paused or stopped by hand meanwhile stays so.
            for stop in [player.pause, player.stop] {
                stop()
                PlaybackEnvironment.isPowerSaving = { false }
                PlaybackEnvironment.reconsider()
                expect(!player.isPlaying)
                player.play()
                PlaybackEnvironment.isPowerSaving = { true }
                PlaybackEnvironment.reconsider()
                expect(!player.isPlaying)
            }
            // The image on display follows its own setting, too.
            picture.imageBinding.playback.pausesInPowerSaver = false
            expect(player.isPlaying)
            picture.imageBinding.playback.pausesInPowerSaver = true
            expect(!player.isPlaying)
            // Started by hand it plays all the same.
            player.play()
            expect(player.isPlaying)
            let other = stage.addImage()
            other.imageBinding.playback.pausesInPowerSaver = false
            other.setImage(with: stage.server.url("/gif/3-0"), completion: stage.completion)
            stage.waitForResults(2)
            expect(MainLoopPump.run(until: { (other.imageBinding.player?.currentFrameIndex ?? 0) > 0 }))
        },

        Scenario(
            "Without autoplay an animation waits; rate, loops and order come from the widget, and the player can be controlled"
        ) {
            let stage = try animatedStage()
            let picture = stage.addImage()
            picture.imageBinding.playback.isAutomatic = false
            picture.imageBinding.playback.loopCount = 1
            picture.imageBinding.playback.rate = 3
            picture.imageBinding.playback.mode = .bounce
            stage.present()
            picture.setImage(with: stage.server.url("/gif/6-0"), completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(picture.imageBinding.player)
            expect(!player.isPlaying)
            // A change while the image is shown starts it.
            picture.imageBinding.playback.isAutomatic = true
            expect(player.isPlaying)
            player.pause()
            player.seek(to: 3)
            expect(MainLoopPump.run(until: { player.currentFrameIndex == 3 }))
            stage.waitForFrame()
            expectEqual(rendered(picture.widget)?.color(0.5, 0.5), colors[3])
            player.step()
            expect(MainLoopPump.run(until: { player.currentFrameIndex == 4 }))
            var seen: [Int] = []
            player.onFrame = { seen.append($0) }
            player.play()
            expect(MainLoopPump.run(until: { player.isFinished }))
            expectEqual(player.currentFrameIndex, 0)
            expect(seen.contains(5) || seen.count > 2, "\(seen)")
        },

        Scenario("Widgets with synchronized playback show the same frame; others each have their own") {
            let stage = try animatedStage()
            let pictures = (0..<3).map { _ in stage.addImage(width: 40, height: 30) }
            stage.present()
            pictures[0].imageBinding.playback.isSynchronized = true
            pictures[1].imageBinding.playback.isSynchronized = true
            for picture in pictures {
                picture.setImage(
                    with: ImageRequest(url: stage.server.url("/gif/5-0"), decodeSize: .original),
                    completion: stage.completion
                )
            }
            stage.waitForResults(3)
            expect(pictures[0].imageBinding.player === pictures[1].imageBinding.player)
            expect(pictures[0].imageBinding.player !== pictures[2].imageBinding.player)
            // The animation plays while one of the widgets is on screen.
            gtk_widget_set_visible(pictures[0].widget, 0)
            let player = try require(pictures[1].imageBinding.player)
            let index = player.currentFrameIndex
            expect(MainLoopPump.run(until: { player.currentFrameIndex != index }))
            gtk_widget_set_visible(pictures[1].widget, 0)
            expect(!player.isRunning)
        },

        Scenario("A standalone paintable plays wherever it is drawn and pauses when nothing draws it") {
            let stage = try animatedStage()
            let paintable = ImagePaintable()
            let raw = gtk_picture_new_for_paintable(paintable.nativePaintable)!
            gtk_widget_set_size_request(raw, 40, 30)
            stage.append(raw)
            stage.present()
            paintable.setImage(with: stage.server.url("/gif/3-0"), completion: stage.completion)
            stage.waitForResults(1)
            let player = try require(paintable.imageBinding.player)
            expect(MainLoopPump.run(until: { player.currentFrameIndex > 1 }))
            gtk_widget_set_visible(raw, 0)
            // The paintable notices after a second.
            expect(MainLoopPump.run(until: { !player.isRunning }))
            var changes = 0
            player.onFrame = { _ in changes += 1 }
            gtk_widget_set_visible(raw, 1)
            expect(MainLoopPump.run(until: { changes > 1 }))
        },

        Scenario("A larger rendition of an animation continues from the frame of the smaller one") {
            let stage = try animatedStage()
            let picture = stage.addImage()
            constrain(picture, width: 60, height: 40, in: stage)
            // The last two frames last longer than this even on a busy machine.
            picture.imageBinding.playback.rate = 0.05
            stage.present()
            picture.setImage(
                with: stage.server.url("/gif/100-0-5"),
                completion: stage.completion
            )
            stage.waitForResults(1)
            // The player that an app has taken is the one that plays on.
            let player = try require(picture.imageBinding.player)
            player.seek(to: 4)
            expect(MainLoopPump.run(until: { player.currentFrameIndex == 4 }))
            @MainActor func grow(_ width: Int, _ height: Int) {
                constrain(picture, width: Int32(width), height: Int32(height), in: stage)
                let isLarger = MainLoopPump.run(until: {
                    gtk_widget_queue_draw(stage.window)
                    return player.currentFrame.pixelSize == PixelSize(width: width, height: height)
                })
                expect(isLarger, "\(player.currentFrame.pixelSize)")
                expect(picture.imageBinding.player === player)
                expectEqual(player.image.pixelSize, PixelSize(width: width, height: height))
            }
            grow(240, 160)
            expect(player.currentFrameIndex >= 4 && player.isPlaying && player.currentLoop == 0)
            // A paused animation stays paused and still follows the user's settings.
            player.pause()
            grow(300, 200)
            expect(!player.isPlaying)
            player.play()
            stage.setAnimations(false)
            expect(!player.isPlaying)
            stage.setAnimations(true)
        },

        Scenario("Several images play as an animation in the order of their URLs, in whatever order they arrive") {
            let gates = [0xFF0000, 0x00FF00, 0x0000FF].reduce(into: [UInt32: ServerGate]()) { $0[$1] = ServerGate() }
            let stage = try Stage(gates: gates)
            let picture = stage.addImage()
            stage.present()
            let urls = [0xFF0000, 0x00FF00, 0x123456, 0x0000FF].map { color in
                color == 0x123456 ? stage.server.url("/missing") : stage.url(color)
            }
            picture.imageBinding.playback.isAutomatic = false
            // Each has a separate request, for example with a key for a URL that changes.
            let requests = urls.enumerated().map { index, url in
                var request = ImageRequest(url: url)
                request.cacheKey = "frame \(index)"
                return request
            }
            picture.imageBinding.setAnimation(
                with: requests,
                loopCount: 2,
                completion: stage.completion
            )
            // The last image arrives first and is shown.
            gates[0x0000FF]?.open()
            expect(MainLoopPump.run(until: { picture.currentImage?.color == 0x0000FF }))
            expect(picture.imageBinding.player == nil)
            gates[0xFF0000]?.open()
            expect(MainLoopPump.run(until: { picture.imageBinding.player?.frameCount == 2 }))
            expect(stage.results.isEmpty)
            gates[0x00FF00]?.open()
            stage.waitForResults(1)
            // An image that fails is left out.
            let player = try require(picture.imageBinding.player)
            expectEqual(player.frameCount, 3)
            expectEqual(player.image.loopCount, 2)
            for (index, color) in [0xFF0000, 0x00FF00, 0x0000FF].enumerated() as EnumeratedSequence<[UInt32]> {
                player.seek(to: index)
                expect(MainLoopPump.run(until: { player.currentFrameIndex == index }))
                stage.waitForFrame()
                expectEqual(rendered(picture.widget)?.color(0.5, 0.5), color)
            }
            // Another image ends the animation; when all images fail, there is an error.
            picture.setImage(with: stage.url(0x445566), completion: stage.completion)
            stage.waitForResults(2)
            expect(picture.imageBinding.player == nil)
            picture.imageBinding.setAnimation(
                with: [stage.server.url("/missing"), stage.server.url("/gone")],
                completion: stage.completion
            )
            stage.waitForResults(3)
            expectEqual(stage.results[2].errorCode, .badStatus)
            picture.imageBinding.setAnimation(with: urls, completion: stage.completion)
            picture.cancelImageLoad()
            stage.waitForResults(4)
            expectEqual(stage.results[3].errorCode, .cancelled)
            stage.waitUntilIdle()
        },

        Scenario("Memory pressure frees the frames of animations that are finished, paused or hidden") {
            let stage = try animatedStage()
            let pictures = (0..<3).map { _ in stage.addImage(width: 60, height: 40) }
            stage.present()
            for (picture, name) in zip(pictures, ["2-1", "2-0", "2-0"]) {
                picture.setImage(
                    with: stage.server.url("/gif/\(name)"),
                    completion: stage.completion
                )
            }
            stage.waitForResults(3)
            let players = try pictures.map { try require($0.imageBinding.player) }
            expect(
                MainLoopPump.run(until: {
                    players[0].isFinished && players.dropFirst().allSatisfy { $0.currentLoop > 0 }
                })
            )
            players[1].pause()
            gtk_widget_set_visible(pictures[2].widget, 0)
            expect(AnimationPlayer.bufferedByteCount > 0)
            let frames = players.map(\.currentFrame)
            // A frame that was being decoded is there a little later.
            expect(
                MainLoopPump.run(until: {
                    MemoryMonitor.shared.notify(.critical)
                    return AnimationPlayer.bufferedByteCount == 0
                }),
                "\(AnimationPlayer.bufferedByteCount) bytes are left"
            )
            expect(players.map(\.currentFrame) == frames)
            gtk_widget_set_visible(pictures[2].widget, 1)
            for player in players {
                player.play()
                let index = player.currentFrameIndex
                expect(MainLoopPump.run(until: { player.currentFrameIndex != index }))
            }
        },

        Scenario("Fifty animations in one window stay within the shared budget") {
            let stage = try Stage { request in
                let number = request.path.split(separator: "/").last.flatMap { UInt32($0) } ?? 0
                let shades = (0..<60).map { number << 16 | UInt32($0) << 8 }
                return .ok(
                    TestImage.animation(shades, size: PixelSize(width: 60, height: 40), duration: .milliseconds(40)),
                    contentType: "image/gif"
                )
            }
            let pictures = (0..<50).map { _ in Picture() }
            let flow = gtk_flow_box_new()!
            for picture in pictures {
                gtk_widget_set_size_request(picture.widget, 20, 20)
                gtk_flow_box_insert(flow.opaque, picture.widget, -1)
            }
            stage.append(flow)
            stage.present()
            for (index, picture) in pictures.enumerated() {
                picture.setImage(
                    with: ImageRequest(url: stage.server.url("/\(index)"), decodeSize: .original),
                    completion: stage.completion
                )
            }
            stage.waitForResults(50)
            // Each animation plays, though not all are past the first frame at the same moment.
            var playing = Set<Int>()
            expect(
                MainLoopPump.run(until: {
                    for (index, picture) in pictures.enumerated() {
                        if (picture.imageBinding.player?.currentFrameIndex ?? 0) > 3 { playing.insert(index) }
                    }
                    return playing.count == pictures.count
                }),
                "\(playing.count) play"
            )
            expect(
                AnimationPlayer.bufferedByteCount <= AnimationPlayer.bufferLimit,
                "\(AnimationPlayer.bufferedByteCount)"
            )
            for picture in pictures { picture.clearImage() }
            expect(
                MainLoopPump.run(until: { AnimationPlayer.bufferedByteCount == 0 }),
                "\(AnimationPlayer.bufferedByteCount) bytes are left"
            )
        },
    ]
}
