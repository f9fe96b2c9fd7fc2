import Foundation
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

/// The handle of a load: awaited, cancelled, and as the parent of others.
struct ImageTaskTests {
    @Test("A task that is awaited gives the image, to all who await it, and at once when it has finished")
    func awaited() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0x00FF00, size: PixelSize(width: 8, height: 4)))
        let task = fixture.load("a")
        async let first = task.image
        async let second = task.response
        #expect(await fixture.polled { fixture.loader.requests.count == 1 })
        #expect(!task.isFinished)
        fixture.loader.finish(fixture.url("a"))
        let (image, response) = try await (first, second)
        #expect(image.pixelSize == PixelSize(width: 8, height: 4) && response.source == .loader)
        #expect(task.isFinished && !task.isCancelled)
        #expect(try await task.image.pixelSize == image.pixelSize)
        #expect(fixture.loader.requests.count == 1)
    }

    @Test("Cancelling a Swift task that awaits the response cancels the load")
    func cancelledWhileAwaited() async {
        let fixture = ManagerFixture(holdsResponses: true)
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0x00FF00, size: PixelSize(width: 8, height: 4)))
        let task = fixture.load("a")
        let waiter = Task { () -> ImageError? in
            do throws(ImageError) {
                _ = try await task.response
                return nil
            } catch {
                return error
            }
        }
        #expect(await fixture.polled { fixture.loader.requests.count == 1 })
        waiter.cancel()
        #expect(await waiter.value?.code == .cancelled)
        #expect(task.isCancelled && task.isFinished)
        #expect(await fixture.polled { fixture.isIdle })
        #expect(fixture.outcomes.all == [.failure(.cancelled)])
    }

    @Test("Awaiting a task that failed throws its error")
    func failed() async {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: Data("no image".utf8))
        let task = fixture.load("a")
        await #expect { try await task.image } throws: { ($0 as? ImageError)?.code == .badImageData }
        await #expect { try await task.image } throws: { ($0 as? ImageError)?.code == .badImageData }
    }

    @Test("A cancelled Swift task starts no load")
    func cancelledBefore() async {
        let fixture = ManagerFixture()
        let url = fixture.url("a")
        let waiter = Task { () -> ImageError? in
            while !Task.isCancelled { await Task.yield() }
            do throws(ImageError) {
                _ = try await fixture.manager.image(for: url)
                return nil
            } catch {
                return error
            }
        }
        waiter.cancel()
        #expect(await waiter.value?.code == .cancelled)
        #expect(fixture.loader.requests.isEmpty)
    }

    @Test("The task of a binding is completed once, by the binding; its completions are called in order")
    func parent() {
        let fixture = ManagerFixture()
        let log = EventLog<String>()
        let task = fixture.boundTask("a")
        task.addCompletion { _ in log.add("first") }
        task.addCompletion { _ in log.add("second, \(task.isFinished)") }
        task.complete(.failure(.cancelled(nil)))
        task.complete(.failure(.cancelled(nil)))
        task.addCompletion { _ in log.add("late") }
        #expect(log.all == ["first", "second, true", "late"])
    }

    @Test("Children take over the priority of their parent, and are cancelled with it")
    func children() {
        let fixture = ManagerFixture(holdsResponses: true)
        let log = EventLog<ImageError.Code?>()
        func child(_ name: String) -> ImageTask {
            fixture.manager.makeTask(
                for: ImageRequest(url: fixture.url(name)),
                handlers: LoadHandlers { log.add($0.failure?.code) }
            )
        }
        let task = fixture.boundTask("a")
        let (first, second, third) = (child("1"), child("2"), child("3"))
        task.priority = .veryHigh
        #expect(task.adopt(first))
        first.start()
        #expect(first.priority == .veryHigh)
        task.stop()
        #expect(first.isCancelled && !task.isCancelled && !task.isFinished)
        #expect(task.adopt(second))
        second.start()
        task.priority = .low
        #expect(second.priority == .low)
        task.cancel()
        #expect(second.isCancelled && task.isFinished)
        #expect(!task.adopt(third))
        // A child that was stopped calls nothing.
        #expect(log.all == [.cancelled])
        #expect(fixture.isIdle)
    }

    @Test("A load that a binding has stopped neither ends its task nor calls anything; the next start does")
    func stopped() {
        let fixture = ManagerFixture(holdsResponses: true)
        let log = EventLog<String>()
        let task = fixture.boundTask("a")
        func start(_ name: String) {
            let request = fixture.manager.prepare(ImageRequest(url: fixture.url(name)))
            task.start(request, for: LoadHandlers { log.add("\(name) \($0.failure?.code == .badStatus)") })
            #expect(EventLog<Int>.poll { fixture.loader.started.contains(fixture.url(name)) })
        }
        start("a")
        task.stop()
        // The pipeline may have decided before the stop.
        task.finish(.failure(.cancelled(nil)))
        start("b")
        #expect(EventLog<Int>.poll { fixture.loader.cancelled == [fixture.url("a")] } && log.all.isEmpty)
        fixture.loader.finish(fixture.url("b"))
        #expect(log.wait { !$0.isEmpty })
        #expect(log.all == ["b true"] && !task.isFinished)
        task.complete(.failure(.cancelled(nil)))
        #expect(task.isFinished && fixture.isIdle)
    }

    @Test("A load that is stopped within its start asks no loader, and a binding hears that its task is cancelled")
    func stoppedWithinStart() {
        let fixture = ManagerFixture(holdsResponses: true)
        let log = EventLog<ImageError.Code?>()
        let task = fixture.boundTask("a")
        let request = fixture.manager.prepare(ImageRequest(url: fixture.url("a")))
        let observation = fixture.manager.observe { if case .memoryMiss = $0.kind { task.stop() } }
        task.start(request, for: LoadHandlers { log.add($0.failure?.code) })
        #expect(fixture.isIdle && fixture.loader.started.isEmpty && log.all.isEmpty)
        task.cancel()
        task.start(request, for: LoadHandlers { log.add($0.failure?.code) })
        #expect(log.all == [.cancelled], "\(log.all)")
        withExtendedLifetime(observation) {}
    }
}

extension ManagerFixture {
    fileprivate func boundTask(_ name: String) -> ImageTask {
        ImageTask(binding: ImageRequest(url: url(name)), in: manager.pipeline)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
