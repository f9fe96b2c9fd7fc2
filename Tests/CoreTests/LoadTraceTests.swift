import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("What observers and meters learn of loads")
struct LoadTraceTests {
    /// Decodes while its gate is open.
    private final class GatedCoder: ImageDecoding {
        private let coders = CoderRegistry.builtIn
        let gate = Gate()

        func canDecode(_ format: ImageFormat) -> Bool { coders.decoder(for: format) != nil }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            gate.wait()
            return try coders.decode(data, options: options)
        }
    }

    private let file = TestImage.solid(0x123456, size: PixelSize(width: 80, height: 60))

    private func name(_ step: LoadTraceEvent) -> String { String("\(step.kind)".prefix { $0 != "(" }) }

    @Test("Loads of one URL are told apart, and each delivery has its response")
    func identifiers() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        fixture.loader.answer(fixture.url("a"), with: file)
        let steps = EventLog<LoadTraceEvent>()
        let observation = fixture.manager.observe { steps.add($0) }
        let sizes = [PixelSize(width: 20, height: 15), PixelSize(width: 40, height: 30)]
        let tasks = sizes.map { fixture.load("a", size: .contain($0)) }
        #expect(EventLog<Int>.poll { fixture.loader.started.count == 1 })
        fixture.loader.finish(fixture.url("a"))
        #expect(steps.wait { $0.count { name($0) == "delivered" } == 2 })
        for (task, size) in zip(tasks, sizes) {
            let own = steps.all.filter { $0.loadID == ObjectIdentifier(task) }
            #expect(own.first.map(name) == "requested" && own.last.map(name) == "delivered", "\(own.map(name))")
            #expect(own.last?.response?.image.pixelSize == size)
            #expect(own.dropLast().allSatisfy { $0.response == nil })
        }
        // The transfer and the decodes belong to whoever waits for them.
        let shared = steps.all.filter { $0.loadID == nil }.map(name)
        #expect(shared.count { $0 == "fetchStarted" } == 1 && shared.count { $0 == "decoded" } == 2, "\(shared)")
        withExtendedLifetime(observation) {}
    }

    @Test("The manager counts the transfers and the decoders at work")
    func activity() {
        let coder = GatedCoder()
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.coders = CoderRegistry([coder]) }
        #expect(fixture.manager.activity == LoadActivity() && fixture.manager.activity.isIdle)
        coder.gate.close()
        for name in ["a", "b"] {
            fixture.loader.answer(fixture.url(name), with: file)
            fixture.load(name)
        }
        #expect(EventLog<Int>.poll { fixture.manager.activity.transferCount == 2 })
        #expect(fixture.manager.activity.decodeCount == 0 && !fixture.manager.activity.isIdle)
        for name in ["a", "b"] { fixture.loader.finish(fixture.url(name)) }
        #expect(EventLog<Int>.poll { fixture.manager.activity.decodeCount == 2 })
        #expect(fixture.manager.activity.transferCount == 0)
        coder.gate.open()
        #expect(EventLog<Int>.poll { fixture.manager.activity.isIdle })
    }

    @Test("The statistics of the memory cache have its limit")
    func limit() {
        #expect(ManagerFixture().manager.cache.memoryStatistics.maximumByteCount == 64 << 20)
    }
}
