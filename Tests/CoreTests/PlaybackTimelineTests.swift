import Testing
import WebImageCore

@Suite("The timeline of frames")
struct PlaybackTimelineTests {
    private let durations: [Duration] = [.milliseconds(100), .milliseconds(200), .milliseconds(300)]

    private func frames(_ mode: ImagePlayback.Mode, loops: Int, every step: Duration, until end: Duration) -> [Int] {
        let timeline = PlaybackTimeline(durations: durations, mode: mode, loopCount: loops)
        return stride(from: 0, to: end / .milliseconds(1), by: step / .milliseconds(1)).map {
            timeline.position(at: .milliseconds($0)).frame
        }
    }

    @Test("Each frame is shown for its own duration in each mode")
    func modes() {
        #expect(
            frames(.normal, loops: 0, every: .milliseconds(100), until: .milliseconds(700)) == [0, 1, 1, 2, 2, 2, 0]
        )
        #expect(
            frames(.reverse, loops: 0, every: .milliseconds(100), until: .milliseconds(700)) == [2, 2, 2, 1, 1, 0, 2]
        )
        #expect(
            frames(.bounce, loops: 0, every: .milliseconds(100), until: .milliseconds(900))
                == [0, 1, 1, 2, 2, 2, 1, 1, 0]
        )
        #expect(
            frames(.reversedBounce, loops: 0, every: .milliseconds(100), until: .milliseconds(900))
                == [2, 2, 2, 1, 1, 0, 1, 1, 2]
        )
    }

    @Test(
        "After the last loop the last frame stays; a bounce ends on its first frame",
        arguments: [(ImagePlayback.Mode.normal, 2), (.reverse, 0), (.bounce, 0), (.reversedBounce, 2)]
    )
    func end(mode: ImagePlayback.Mode, last: Int) {
        let timeline = PlaybackTimeline(durations: durations, mode: mode, loopCount: 2)
        let position = timeline.position(at: timeline.loopDuration * 2)
        #expect(position.frame == last && position.loop == 2 && position.end == nil)
        #expect(timeline.position(at: timeline.loopDuration * 2 - .milliseconds(1)).end == timeline.loopDuration * 2)
        #expect(timeline.position(at: timeline.loopDuration).loop == 1)
    }

    @Test("The frames to decode ahead wrap around at the end of a loop and stop after the last loop")
    func ahead() {
        let forever = PlaybackTimeline(durations: durations, mode: .normal, loopCount: 0)
        #expect(forever.frames(after: 1, count: 4) == [2, 0, 1, 2])
        let once = PlaybackTimeline(durations: durations, mode: .normal, loopCount: 1)
        #expect(once.frames(after: 0, count: 5) == [1, 2, 2])
        let bounce = PlaybackTimeline(durations: durations, mode: .bounce, loopCount: 0)
        #expect(bounce.frames(after: 0, count: 5) == [1, 2, 1, 0, 1])
    }
}
