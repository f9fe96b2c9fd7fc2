import FoundationEssentials
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// As the tests of an app use it.
@Suite("What users get for their tests")
struct TestingProductTests {
    @Test("A manager without network and disk, a loader that obeys, and a record of what was done")
    func manager() async throws {
        // Given
        let loader = FakeLoader()
        let url = try #require(URL(string: "https://example.org/a.png"))
        loader.answer(url, with: TestImage.solid(0xFF0000, size: PixelSize(width: 4, height: 3)))
        let manager = ImageManager.testing(loader)
        let recorder = LoadRecorder(manager)
        // When
        let image = try await manager.image(for: url)
        _ = try await manager.image(for: url)
        // Then
        #expect(image.pixelSize == PixelSize(width: 4, height: 3))
        #expect(recorder.transferCount(of: url) == 1)
        #expect(recorder.wait { $0.contains { if case .delivered(.memory) = $0.kind { true } else { false } } })
    }

    @Test("What is remembered goes by a clock that tests turn")
    func clock() async throws {
        let (loader, clock) = (FakeLoader(), ManualClock())
        let url = try #require(URL(string: "https://example.org/a.png"))
        let manager = ImageManager.testing(loader, clock: clock) { $0.failureCacheDuration = .seconds(60) }
        for _ in 0..<2 { await #expect(throws: ImageError.self) { try await manager.image(for: url) } }
        #expect(loader.started.count == 1)
        clock.advance(by: .seconds(61))
        await #expect(throws: ImageError.self) { try await manager.image(for: url) }
        #expect(loader.started.count == 2)
    }
}
