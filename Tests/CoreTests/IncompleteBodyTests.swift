import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

/// Bytes that are no image because of the server at that moment, or of the network.
@Suite("Bodies that are not all there")
struct IncompleteBodyTests {
    private static let image = TestImage.solid(1, size: PixelSize(width: 30, height: 20))

    private func answer(_ fixture: ManagerFixture, _ url: URL, _ status: Int, _ data: Data, isOpen: Bool = false) {
        var loaded = LoaderResult(data: data, head: ResponseHead(url: url, status: status))
        loaded.endsWithConnection = isOpen
        fixture.loader.answer(url, with: .success(loaded))
    }

    @Test(
        "A body that may have been cut off is asked for again, and so is an image that is not there yet",
        arguments: [
            (200, Self.image.prefix(60), true), (200, Data(), false), (204, Data(), false),
            (202, Data("{\"state\": \"pending\"}".utf8), false),
        ],
        [ImageRequest.Loading.complete, .progressive]
    )
    func incomplete(response: (status: Int, data: Data, isOpen: Bool), loading: ImageRequest.Loading) async throws {
        var policy = ImageRetryPolicy()
        policy.maximumCount = 1
        let fixture = ManagerFixture(holdsResponses: true, retryPolicy: policy)
        let url = fixture.url("a")
        answer(fixture, url, response.status, response.data, isOpen: response.isOpen)
        // Given two sizes of the image, which share the attempts
        func load() {
            for size in [DecodeSize.original, .contain(PixelSize(width: 3, height: 2))] {
                fixture.load(ImageRequest(url: url, loading: loading, decodeSize: size), partial: { _ in }) {
                    fixture.outcomes.add(ManagerFixture.Outcome($0))
                }
            }
        }
        func finish(_ count: Int) {
            #expect(EventLog<Int>.poll { fixture.loader.requests.count == count && fixture.loader.runningCount == 1 })
            fixture.loader.finish(url)
        }
        func retry() {
            // Both have failed by then.
            #expect(EventLog<Int>.poll { fixture.clock.pendingDelays.count == 1 && fixture.isAtRest })
            fixture.clock.advance(by: .seconds(1))
        }
        load()
        finish(1)
        retry()
        finish(2)
        // When the last attempt fails as well, that is not remembered
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.outcomes.all == [.failure(.transferIncomplete), .failure(.transferIncomplete)])
        load()
        finish(3)
        retry()
        // And the whole image is shown once it is there.
        answer(fixture, url, 200, Self.image)
        finish(4)
        #expect(fixture.outcomes.wait { $0.count == 4 })
        #expect(fixture.loader.requests.count == 4 && fixture.isIdle)
        #expect(Set(fixture.outcomes.all.suffix(2).map { "\($0)" }).count == 2, "\(fixture.outcomes.all)")
    }

    @Test("Bytes that the server has sent as a whole are not asked for again")
    func whole() async {
        let fixture = ManagerFixture(retryPolicy: ImageRetryPolicy())
        let url = fixture.url("a")
        for (data, isOpen) in [(Self.image.prefix(60), false), (Data("text".utf8), true)] {
            fixture.manager.forgetAllFailures()
            answer(fixture, url, 200, data, isOpen: isOpen)
            for isRemembered in [false, true] {
                let error = await thrownError { try await fixture.manager.image(for: url) }
                #expect(error?.code == .badImageData && error?.isRemembered == isRemembered)
            }
        }
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("A page in place of an image is remembered only when it comes from the server for certain")
    func page() async throws {
        let fixture = ManagerFixture()
        for (text, isCertain) in [("http://host/a", false), ("https://host/a", true)] {
            let url = try #require(URL(string: text))
            answer(fixture, url, 200, Data("<!DOCTYPE html><html>Log in".utf8))
            _ = await thrownError { try await fixture.manager.image(for: url) }
            let error = await thrownError { try await fixture.manager.image(for: url) }
            #expect(error?.code == .badImageData && error?.isRemembered == isCertain)
        }
    }
}
