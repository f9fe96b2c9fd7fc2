import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Options of a load")
struct LoadOptionTests {
    private let size = PixelSize(width: 64, height: 48)

    @Test("With .awaitingWrites the completion is called when both tiers have the image")
    func waitsForStore() {
        // Given a disk whose writes can be held
        let gate = Gate()
        let store = FaultyStore { call, _ in call == "write" ? .waits { gate.wait() } : nil }
        let fixture = ManagerFixture(resultStore: store)
        for name in ["a", "b"] { fixture.loader.answer(fixture.url(name), with: TestImage.solid(1, size: size)) }
        gate.close()
        // When
        fixture.load("a", cacheAccess: .awaitingWrites, size: .contain(PixelSize(width: 16, height: 16)))
        fixture.load("b", size: .contain(PixelSize(width: 16, height: 16)))
        // Then
        #expect(fixture.outcomes.wait { $0 == [.image(PixelSize(width: 16, height: 12), .loader)] })
        #expect(fixture.results.usage.count == 0)
        gate.open()
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(FileManager.default.fileExists(atPath: fixture.disk?.path(for: fixture.url("a").absoluteString) ?? ""))
    }

    @Test("A load does not wait for the writes of another load")
    func slowDisk() {
        let gate = Gate()
        let writes = EventLog<Void>()
        let store = FaultyStore { call, _ in
            call == "write"
                ? .waits {
                    writes.add(())
                    gate.wait()
                } : nil
        }
        let fixture = ManagerFixture(resultStore: store)
        for name in ["a", "b"] { fixture.loader.answer(fixture.url(name), with: TestImage.solid(1, size: size)) }
        gate.close()
        // Given a disk that is busy with the rendition of a load
        fixture.load("a", size: .contain(PixelSize(width: 16, height: 16)))
        #expect(writes.wait { $0.count == 1 })
        // When another image is loaded
        fixture.load("b", size: .contain(PixelSize(width: 16, height: 16)))
        // Then it is delivered
        #expect(fixture.outcomes.wait { $0.count == 2 })
        gate.open()
    }

    @Test("With .awaitingWrites a failure ends, and so does a load that stores nothing")
    func nothingToStore() {
        let fixture = ManagerFixture()
        fixture.load("missing", cacheAccess: .awaitingWrites)
        #expect(fixture.outcomes.wait { $0 == [.failure(.badStatus)] })
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(1, size: size))
        fixture.load("a", cacheAccess: CacheAccess(writes: .memory, awaitsWrites: true))
        #expect(fixture.outcomes.wait { $0.count == 2 } && fixture.disk?.usage.count == 0)
    }

    @Test("A response carries the durations of its stages")
    func durations() async throws {
        let fixture = ManagerFixture()
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.solid(1, size: PixelSize(width: 800, height: 600)))
        let request = ImageRequest(url: url, transformer: .blur(4))
        let loaded = try await fixture.manager.response(for: request)
        #expect(loaded.durations.decoding > .zero && loaded.durations.transforming > .zero)
        #expect(loaded.durations.reading == .zero)
        let remembered = try await fixture.manager.response(for: request)
        #expect(remembered.durations == StageDurations())
        fixture.manager.cache.removeAllFromMemory()
        let read = try await fixture.manager.response(for: ImageRequest(url: url))
        #expect(read.source == .disk && read.durations.reading > .zero && read.durations.decoding > .zero)
    }

    @Test("A request can bring its own loader and shares fetches only with requests that have the same one")
    func ownLoader() {
        let fixture = ManagerFixture(holdsResponses: true)
        let (first, second) = (FakeLoader(holdsResponses: true), FakeLoader(holdsResponses: true))
        for loader in [first, first, second, nil] {
            var request = ImageRequest(url: fixture.url("a"))
            request.loader = loader
            fixture.load(request) { fixture.outcomes.add(.init($0)) }
        }
        #expect(
            EventLog<Int>.poll {
                first.runningCount == 1 && second.runningCount == 1 && fixture.loader.runningCount == 1
            }
        )
        for loader in [first, second, fixture.loader] {
            loader.answer(fixture.url("a"), with: TestImage.solid(1, size: size))
            loader.finish(fixture.url("a"))
        }
        #expect(fixture.outcomes.wait { $0 == Array(repeating: .image(size, .loader), count: 4) })
    }

    @Test("Two requests are equivalent when the same pixels come in the same way")
    func sameness() {
        let base = ImageRequest(url: URL(string: "http://host/a")!)
        func changed(_ change: (inout ImageRequest) -> Void) -> Bool {
            var other = base
            change(&other)
            return base.isEquivalent(to: other)
        }
        #expect(changed { $0.priority = .veryLow })
        #expect(changed { $0.userInfo = ["who": 1] })
        #expect(!changed { $0.url = URL(string: "http://host/b")! })
        #expect(!changed { $0.fallbackURLs = [base.url] })
        #expect(!changed { $0.previewURL = base.url })
        #expect(!changed { $0.networkOptions.headers = ["a": "b"] })
        #expect(!changed { $0.transformer = .circle() })
        #expect(!changed { $0.loader = FakeLoader() })
        #expect(!changed { $0.cacheAccess.writes = [] })
    }
}

@Suite("Stored ThumbHashes")
struct KeptHashTests {
    private func picture() -> Data { TestImage.solid(0xC04020, size: PixelSize(width: 200, height: 100)) }

    @Test("A ThumbHash is made with the first decode and survives a restart")
    func made() async throws {
        let fixture = ManagerFixture { $0.keepsThumbHashes = true }
        let url = fixture.url("a")
        fixture.loader.answer(url, with: picture())
        let image = try await fixture.manager.image(for: url)
        #expect(await fixture.polled { fixture.isQuiet })
        let hash = try #require(await fixture.manager.cache.thumbHash(for: url))
        #expect(hash == ThumbHash(of: image) && abs(hash.aspectRatio - 2) < 0.4)
        #expect(fixture.disk?.entry(for: url.absoluteString)?.data == picture())
    }

    @Test("An original without one gets one with its next decode")
    func added() async throws {
        let fixture = ManagerFixture { $0.keepsThumbHashes = true }
        let url = fixture.url("a")
        fixture.manager.cache.store(picture(), for: url)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(await fixture.manager.cache.thumbHash(for: url) == nil)
        _ = try await fixture.manager.image(for: url)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(await fixture.manager.cache.thumbHash(for: url) != nil)
    }

    @Test("A progressive load from disk shows the ThumbHash first; without the setting there is none")
    func shown() async throws {
        for isOn in [true, false] {
            let fixture = ManagerFixture { $0.keepsThumbHashes = isOn }
            let url = fixture.url("a")
            fixture.loader.answer(url, with: picture())
            _ = try await fixture.manager.image(for: url)
            #expect(await fixture.polled { fixture.isQuiet })
            fixture.manager.cache.removeAllFromMemory()
            let sizes = EventLog<Int>()
            let request = ImageRequest(url: url, loading: .progressive)
            fixture.load(
                request,
                partial: { image in
                    sizes.add(image.pixelSize.width)
                }
            ) { result in
                sizes.add((try? result.get())?.image.pixelSize.width ?? 0)
            }
            #expect(await fixture.polled { sizes.all.last == 200 })
            #expect(sizes.all == (isOn ? [32, 200] : [200]))
        }
    }
}
