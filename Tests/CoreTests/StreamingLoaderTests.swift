import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Loaders that stream")
struct StreamingLoaderTests {
    private struct Archive: AsyncDataStreaming {
        let open: @Sendable (LoaderRequest) async throws -> LoaderStream

        func canLoad(_ url: URL) -> Bool { url.scheme == "archive" }

        func stream(for request: LoaderRequest) async throws -> LoaderStream { try await open(request) }
    }

    private static let size = PixelSize(width: 400, height: 300)
    private static let file = TestImage.make(size: size, format: .jpeg) { x, y in UInt32(x * 77 ^ y * 1013) & 0xFFFFFF }

    private func url(_ name: String) -> URL { URL(string: "archive:///\(name)")! }

    private func fixture(
        _ change: @escaping (inout Pipeline.Dependencies) -> Void = { _ in },
        _ open: @escaping @Sendable (LoaderRequest) async throws -> LoaderStream
    ) -> ManagerFixture {
        let fixture = ManagerFixture(hasDisk: false, change: change)
        fixture.manager.loaders.add(Archive(open: open))
        return fixture
    }

    /// The parts of a file, the second of which waits for a gate.
    private func halves(_ gate: AsyncGate, _ file: Data = file) -> AsyncThrowingStream<Data, any Error> {
        let step = Mutex(0)
        return AsyncThrowingStream {
            let next = step.withLock { step in
                step += 1
                return step
            }
            switch next {
            case 1: return file.prefix(file.count / 2)
            case 2: return Data()
            case 3:
                try await gate.wait()
                return file.suffix(file.count - file.count / 2)
            default: return nil
            }
        }
    }

    @Test("Partial images and progress come while the chunks do, also to a load that joins later")
    func progressive() async throws {
        let gate = AsyncGate()
        let count = Int64(Self.file.count)
        let fixture = fixture { _ in LoaderStream(halves(gate), expectedByteCount: count) }
        let (partials, late, progress) = (EventLog<WebImage>(), EventLog<WebImage>(), EventLog<Int64>())
        let plain = fixture.manager.load(
            url("a"),
            on: InlineDispatcher(),
            progress: { received, expected in
                #expect(expected == count)
                progress.add(received)
            }
        ) { _ in }
        #expect(await eventually { progress.all.contains(count / 2) })
        let request = ImageRequest(url: url("a"), loading: .progressive)
        let task = fixture.manager.load(request, on: InlineDispatcher(), partial: { late.add($0) }) { _ in }
        #expect(await eventually { !late.all.isEmpty })
        #expect(late.all[0].isPartial && late.all[0].pixelSize == Self.size)
        gate.open()
        #expect(try await task.image.pixelSize == Self.size)
        #expect(try await plain.image.isPartial == false && progress.all.last == count)
        // A load that is progressive from the start
        let second = AsyncGate()
        fixture.manager.loaders.add(Archive { _ in LoaderStream(halves(second)) })
        let other = ImageRequest(url: url("b"), loading: .progressive)
        let streamed = fixture.manager.load(other, on: InlineDispatcher(), partial: { partials.add($0) }) { _ in }
        #expect(await eventually { !partials.all.isEmpty })
        second.open()
        #expect(try await streamed.image.pixelSize == Self.size)
    }

    @Test("A load that begins to stream while a chunk arrives gets each byte once")
    func joined() async {
        let body = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0) })
        for _ in 0..<100 {
            let (gate, events) = (Gate(), EventLog<LoaderEvent>())
            gate.close()
            let chunks = Mutex(body.makeIterator())
            let archive = Archive { _ in
                LoaderStream(
                    AsyncStream {
                        // The thread below needs a while to wake up.
                        gate.open()
                        return chunks.withLock { $0.next() }.map { Data([$0]) }
                    }
                )
            }
            let operation = archive.load(LoaderRequest(url: url("a"))) { event in
                if case .progress = event { return }
                events.add(event)
            }
            Thread.detachNewThread {
                gate.wait()
                operation.startStreaming()
            }
            #expect(await eventually { if case .finished = events.all.last { true } else { false } })
            let streamed = events.all.reduce(into: Data()) { if case .data(let data) = $1 { $0 += data } }
            #expect(streamed.isEmpty || streamed == body)
        }
    }

    @Test("A stream of another length than it says, or beyond the limit, is an error, and is read no further")
    func lengths() async throws {
        let limit = Self.file.count + 10
        let reads = Mutex(0)
        let fixture = fixture({ $0.maximumByteCount = limit }) { request in
            let endless = AsyncStream<Data> {
                reads.withLock { $0 += 1 }
                return Data(count: 1000)
            }
            let whole = AsyncStream<Data>(Self.file)
            switch request.url.lastPathComponent {
            case "endless": return LoaderStream(endless)
            case "announced": return LoaderStream(endless, expectedByteCount: .max)
            case "short": return LoaderStream(whole, expectedByteCount: Int64(Self.file.count + 1))
            case "long": return LoaderStream(whole, expectedByteCount: Int64(Self.file.count - 1))
            case "negative": return LoaderStream(whole, expectedByteCount: -5)
            default: return LoaderStream(AsyncStream<Data> { nil })
            }
        }
        func code(_ name: String) async -> ImageError.Code? {
            await thrownError { try await fixture.manager.image(for: url(name)) }?.code
        }
        #expect(await code("announced") == .bodyTooLarge && reads.withLock { $0 } == 0)
        #expect(await code("endless") == .bodyTooLarge)
        #expect(reads.withLock { $0 } == limit / 1000 + 1)
        #expect(await code("short") == .transferIncomplete)
        #expect(await code("long") == .transferIncomplete)
        #expect(await code("negative") == nil)
        #expect(await code("empty") == .badImageData)
    }

    @Test("A chunk that fails ends the load, and cancelling it ends the stream")
    func ends() async throws {
        struct Trouble: Error {}
        let (gate, ended) = (AsyncGate(), EventLog<Bool>())
        let fixture = fixture { request in
            let isHeld = request.url.lastPathComponent == "held"
            return LoaderStream(
                AsyncThrowingStream<Data, any Error> {
                    guard isHeld else { throw Trouble() }
                    defer { ended.add(Task.isCancelled) }
                    try await gate.wait()
                    return nil
                }
            )
        }
        #expect(await thrownError { try await fixture.manager.image(for: url("a")) }?.code == .unreadable)
        let task = fixture.manager.load(url("held"), on: InlineDispatcher()) { _ in }
        #expect(await eventually { gate.waitingCount == 1 })
        task.cancel()
        #expect(await eventually { ended.all == [true] && fixture.manager.activeCounts == (0, 0) })
    }
}

extension AsyncStream<Data> {
    /// A stream of one chunk.
    fileprivate init(_ data: Data) {
        self.init { continuation in
            continuation.yield(data)
            continuation.finish()
        }
    }
}
