import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("Slow formats")
struct SlowDecodingTests {
    /// Decodes SVG once a gate is open, and everything else at once.
    private final class SlowCoder: ExtendedDecoding {
        let gate = Gate()
        private let others = CountingCoder()

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func isSlow(_ format: ImageFormat) -> Bool { format == .svg }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            guard ImageFormat(sniffing: data) == .svg else { return try others.decode(data, options: options) }
            gate.wait()
            let pixels = PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }
            return WebImage(pixels: pixels!, format: .svg)
        }
    }

    /// Decodes images of hogs once a gate is open or they are not wanted, and others at once.
    private final class HogCoder: ExtendedDecoding {
        let isOpen = Mutex(false)
        let starts = EventLog<Int>()
        private let others = CountingCoder()

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            try others.decode(data, options: options)
        }

        func decode(
            _ data: Data,
            options: DecodeOptions,
            holding reservation: MemoryBudget.Reservation?,
            isCancelled: () -> Bool
        ) throws(ImageError) -> WebImage {
            if options.url?.path().hasPrefix("/hog") == true {
                starts.add(1)
                while !isOpen.withLock({ $0 }) {
                    if isCancelled() { throw .cancelled(options.url) }
                    usleep(500)
                }
            }
            return try others.decode(data, options: options)
        }
    }

    @Test("Images that take seconds leave room for others, however many they are")
    func hogs() {
        // Given as many as there are threads, and more
        let coder = HogCoder()
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([coder])
            dependencies.slowQueue = WorkQueue(name: "test-slow", threadCount: 1)
        }
        let size = PixelSize(width: 4, height: 3)
        for name in ["hog1", "hog2", "hog3", "hog4", "a"] {
            fixture.loader.answer(fixture.url(name), with: TestImage.solid(0xFF0000, size: size))
        }
        for number in 1...4 { fixture.load("hog\(number)") }
        coder.starts.wait { $0.count == 2 }
        fixture.load("a")
        // When they have taken their time
        #expect(
            EventLog<Int>.poll {
                fixture.clock.advance(by: .seconds(3))
                return !fixture.outcomes.all.isEmpty
            }
        )
        // Then the other image is there, and they end one after the other
        #expect(fixture.outcomes.all == [.image(size, .loader)])
        coder.isOpen.withLock { $0 = true }
        fixture.outcomes.wait { $0.count == 5 }
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(size, .loader) })
    }

    @Test("An image that has turned out to be slow leaves the queue when nobody wants it")
    func cancelledHogs() {
        let (coder, gate) = (HogCoder(), Gate())
        let slow = WorkQueue(name: "test-slow", threadCount: 1)
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([coder])
            dependencies.slowQueue = slow
        }
        gate.close()
        defer { gate.open() }
        slow.submit { gate.wait() }
        let names = ["hog1", "hog2", "hog3", "hog4"]
        for name in names {
            fixture.loader.answer(fixture.url(name), with: TestImage.solid(0, size: PixelSize(width: 4, height: 3)))
        }
        let tasks = names.map { fixture.load($0) }
        coder.starts.wait { $0.count == 2 }
        #expect(
            EventLog<Int>.poll {
                fixture.clock.advance(by: .seconds(3))
                return slow.load.waiting > 0
            }
        )
        for task in tasks { task.cancel() }
        #expect(EventLog<Int>.poll { slow.load.waiting == 0 })
    }

    @Test("The memory of a decoder that was left behind is not given to others")
    func leftBehind() {
        /// Gives up while what it has called goes on.
        final class Coder: ExtendedDecoding {
            let memory = Mutex<MemoryBudget.Reservation?>(nil)

            func canDecode(_ format: ImageFormat) -> Bool { true }

            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                throw options.badData("It has no memory")
            }

            func decode(
                _ data: Data,
                options: DecodeOptions,
                holding reservation: MemoryBudget.Reservation?,
                isCancelled: () -> Bool
            ) throws(ImageError) -> WebImage {
                memory.withLock { $0 = reservation }
                throw ImageError(.timedOut, url: options.url, reason: "It takes too long", remedy: "")
            }
        }
        let (coder, budget) = (Coder(), MemoryBudget(limit: 1 << 20))
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([coder])
            dependencies.budget = budget
        }
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0, size: PixelSize(width: 4, height: 3)))
        fixture.load("a")
        fixture.outcomes.wait { $0.count == 1 }
        #expect(budget.used.decoding > 0)
        coder.memory.withLock { $0 = nil }
        #expect(EventLog<Int>.poll { budget.used.decoding == 0 })
    }

    @Test("A slow image that needs more than half of the memory takes all that it needs")
    func large() {
        /// Decodes at once, and says that it is slow.
        struct Coder: ExtendedDecoding {
            let budget: MemoryBudget
            let used: EventLog<Int>

            func canDecode(_ format: ImageFormat) -> Bool { true }

            func isSlow(_ format: ImageFormat) -> Bool { true }

            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                used.add(budget.used.decoding)
                return WebImage(pixels: PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }!)
            }
        }
        let (size, used) = (PixelSize(width: 20, height: 20), EventLog<Int>())
        let budget = MemoryBudget(limit: size.pixelCount * 4 * 16 / 10 + 32)
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([Coder(budget: budget, used: used)])
            dependencies.slowQueue = WorkQueue(name: "test-slow", threadCount: 1)
            dependencies.budget = budget
        }
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
        fixture.load("a")
        used.wait { $0.count == 1 }
        #expect(used.all == [size.pixelCount * 4])
    }

    @Test(
        "Slow images wait for each other, and no other image waits for them",
        arguments: [false, true],
        [false, true]
    )
    func fairness(isProgressive: Bool, isShortOfMemory: Bool) throws {
        // Given more slow images than there are threads, or than there is memory for, none of which gets done
        let coder = SlowCoder()
        coder.gate.close()
        let slow = WorkQueue(name: "test-slow", threadCount: isShortOfMemory ? 8 : 1)
        let budget = isShortOfMemory ? MemoryBudget(limit: 160 << 20) : MemoryBudget(limit: 1 << 30)
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([coder])
            dependencies.slowQueue = slow
            dependencies.formats.network.insert(.svg)
            dependencies.budget = budget
        }
        let file = Data("<svg width='1' height='1'/>".utf8) + Data(repeating: 0x20, count: (59 << 20) / 10)
        for number in 0..<6 {
            fixture.loader.answer(fixture.url("\(number).svg"), with: file)
            var request = ImageRequest(url: fixture.url("\(number).svg"))
            if isProgressive { request.loading = .progressive }
            fixture.load(request) { fixture.outcomes.add(ManagerFixture.Outcome($0)) }
        }
        #expect(EventLog<Int>.poll { isShortOfMemory ? budget.waitingCount == 5 : slow.load.waiting == 5 })
        // The copies for partial images count as well.
        if !isProgressive { #expect(EventLog<Int>.poll { budget.hasRoomForBody }) }
        // When another image is loaded
        let size = PixelSize(width: 4, height: 3)
        fixture.loader.answer(fixture.url("a.png"), with: TestImage.solid(0xFF0000, size: size))
        fixture.load("a.png")
        // Then it is decoded
        fixture.outcomes.wait { $0.contains(.image(size, .loader)) }
        #expect(fixture.outcomes.all == [.image(size, .loader)])
        // And the slow ones are decoded one after the other
        coder.gate.open()
        fixture.outcomes.wait { $0.count == 7 }
        #expect(fixture.outcomes.all.dropFirst().allSatisfy { $0 == .image(PixelSize(width: 1, height: 1), .loader) })
    }
}
