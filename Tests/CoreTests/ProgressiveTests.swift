import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Progressive images")
struct ProgressiveTests {
    private let size = PixelSize(width: 400, height: 300)

    @Test(
        "Partial images are delivered while bytes arrive, then the whole one, decoded once",
        arguments: [TestImage.Format.jpeg, .png]
    )
    func partials(format: TestImage.Format) {
        // Given a held response
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        let file = TestImage.make(size: size, format: format) { x, y in UInt32(x * 77 ^ y * 1013) & 0xFFFFFF }
        fixture.loader.answer(url, with: file)
        let partials = EventLog<WebImage>()
        let request = ImageRequest(url: url, loading: .progressive)
        fixture.load(request, partial: { partials.add($0) }) { fixture.outcomes.add(.init($0)) }
        // When half of the bytes arrive
        fixture.loader.send(file.prefix(file.count / 2), for: url)
        // Then the rows at the top are visible, those at the bottom are not
        #expect(partials.wait { !$0.isEmpty })
        let partial = partials.all[0]
        #expect(partial.isPartial)
        #expect(partial.pixelSize == size)
        #expect(partial.naturalSize == size)
        #expect(partial.alpha(x: 5, y: 5) == 255)
        #expect(partial.alpha(x: 5, y: size.height - 5) == 0)
        #expect(fixture.outcomes.all.isEmpty)
        // When the rest arrives
        fixture.loader.send(file.suffix(file.count - file.count / 2), for: url)
        fixture.loader.finish(url)
        // Then the image is whole, and nothing was decoded twice
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.image(size, .loader)])
        #expect(fixture.decodes.count == 0)
        #expect(fixture.isIdle)
        #expect(fixture.manager.cachedImage(for: request)?.isPartial == false)
    }

    @Test("A transformer also changes the partial images")
    func transformed() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        let file = TestImage.make(size: size, format: .jpeg) { x, y in UInt32(x * 77 ^ y * 1013) & 0xFFFFFF }
        fixture.loader.answer(url, with: file)
        let partials = EventLog<WebImage>()
        let request = ImageRequest(url: url, loading: .progressive, transformer: .flip(vertically: true))
        fixture.load(request, partial: { partials.add($0) }) { fixture.outcomes.add(.init($0)) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.send(file.prefix(file.count / 2), for: url)
        #expect(partials.wait { !$0.isEmpty })
        // The rows that have arrived are at the bottom.
        let partial = partials.all[0]
        #expect(partial.isPartial)
        #expect(partial.alpha(x: 5, y: 5) == 0)
        #expect(partial.alpha(x: 5, y: size.height - 5) == 255)
    }

    @Test("A task that joins late gets partial images of all bytes so far")
    func lateJoiner() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        let file = TestImage.make(size: size, format: .jpeg) { x, y in UInt32(x * 77 ^ y * 1013) & 0xFFFFFF }
        fixture.loader.answer(url, with: file)
        let first = EventLog<WebImage>()
        let second = EventLog<WebImage>()
        var request = ImageRequest(url: url, loading: .progressive)
        fixture.load(request, partial: { first.add($0) }) { _ in }
        fixture.loader.send(file.prefix(file.count / 2), for: url)
        #expect(first.wait { !$0.isEmpty })
        // When another size is requested and a few more bytes arrive
        request.decodeSize = .contain(PixelSize(width: 100, height: 100))
        fixture.load(request, partial: { second.add($0) }) { fixture.outcomes.add(.init($0)) }
        fixture.loader.send(file[(file.count / 2)..<(file.count / 2 + 100)], for: url)
        // Then its partial image has the top, which arrived before
        #expect(second.wait { !$0.isEmpty })
        #expect(second.all.first?.alpha(x: 5, y: 5) == 255)
        fixture.loader.send(file.suffix(from: file.count / 2 + 100), for: url)
        fixture.loader.finish(url)
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.image(PixelSize(width: 100, height: 75), .loader)])
    }

    @Test("A file that is damaged half way fails, although partial images were shown")
    func badEnd() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        let file = TestImage.make(size: size, format: .jpeg) { x, y in UInt32(x * 77 ^ y * 1013) & 0xFFFFFF }
        let half = file.prefix(file.count / 2)
        fixture.loader.answer(url, with: Data(half))
        let partials = EventLog<WebImage>()
        let request = ImageRequest(url: url, loading: .progressive)
        fixture.load(request, partial: { partials.add($0) }) { fixture.outcomes.add(.init($0)) }
        fixture.loader.send(half, for: url)
        #expect(partials.wait { !$0.isEmpty })
        fixture.loader.finish(url)
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.failure(.badImageData)])
        #expect(fixture.isIdle)
    }

    @Test("However often it pauses, all that has come is shown, though no more comes")
    func pauses() {
        // Given transfers that send a few more bytes when the next partial image is due
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.clock = SystemClock() }
        for number in 0..<2000 {
            let url = fixture.url("\(number)")
            fixture.loader.answer(url, with: Data(count: 608))
            let partials = EventLog<Int>()
            var request = ImageRequest(url: url, loading: .progressive)
            request.decoder = ByteCountingCoder()
            request.progressiveOptions.interval = .microseconds(50)
            let task = fixture.load(request, partial: { partials.add($0.pixelSize.width) }) { _ in }
            fixture.loader.send(Data(count: 600), for: url)
            for _ in 0..<(number % 50) { sched_yield() }
            fixture.loader.send(Data(count: 4), for: url)
            for _ in 0..<(number % 17) { sched_yield() }
            // When the transfer pauses after its last bytes
            fixture.loader.send(Data(count: 4), for: url)
            // Then they are shown
            let isShown = partials.wait { $0.last == 608 }
            #expect(isShown, "number \(number): \(partials.all)")
            task.cancel()
            if !isShown { break }
        }
    }

    @Test("The format is detected however small the pieces are")
    func crumbs() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        fixture.loader.answer(url, with: Data(count: 600))
        let partials = EventLog<Int>()
        var request = ImageRequest(url: url, loading: .progressive)
        request.decoder = ByteCountingCoder()
        request.progressiveOptions.interval = .zero
        let task = fixture.load(request, partial: { partials.add($0.pixelSize.width) }) { _ in }
        for _ in 0..<600 { fixture.loader.send(Data(count: 1), for: url) }
        #expect(partials.wait { $0.last == 600 }, "\(partials.all)")
        task.cancel()
    }

    @Test("A cancellation during progressive decoding leaves no work behind")
    func cancelled() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let file = TestImage.make(size: size, format: .jpeg) { x, y in UInt32(x ^ y) }
        for number in 0..<200 {
            let url = fixture.url("\(number)")
            let request = ImageRequest(url: url, loading: .progressive)
            let task = fixture.load(request, partial: { _ in }) { fixture.outcomes.add(.init($0)) }
            fixture.loader.send(file.prefix(2000 + number * 10), for: url)
            task.cancel()
        }
        #expect(fixture.outcomes.wait { $0.count == 200 })
        #expect(fixture.outcomes.all.allSatisfy { $0 == .failure(.cancelled) })
        #expect(fixture.isIdle)
    }
}

extension WebImage {
    fileprivate func alpha(x: Int, y: Int) -> UInt8 {
        guard pixels.hasAlpha else { return 255 }
        return pixels.withUnsafeBytes { $0[y * pixels.bytesPerRow + x * 4 + 3] }
    }
}
