import FoundationEssentials
import Testing
import WebImageCore
import WebImageTesting

/// As the tests of an app use it.
@Suite("What users get for their tests")
struct TestingProductTests {
    @Test("A manager without network and disk, a loader that obeys, and a record of what was done")
    func manager() async throws {
        // Given
        let loader = FakeLoader()
        let url = try #require(URL(string: "https://example.org/a.png"))
        loader.answer(url, with: TestPicture.solid(0xFF0000, size: PixelSize(width: 4, height: 3)))
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
}
