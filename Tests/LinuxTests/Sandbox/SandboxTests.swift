import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@testable import WebImageSandbox

/// Decodes in workers that are this test program started again.
@Suite("The sandbox of decoders")
struct SandboxTests {
    private let sandbox: DecodeSandbox
    private let coders: CoderRegistry

    init() throws {
        try #require(DecodeSandbox.shared != nil)
        sandbox = DecodeSandbox(paths: [WorkerProgram.own], limit: 2, timeLimit: .seconds(2), patience: 200)
        coders = .builtIn(adding: [], other: HostileDecoder(), sandbox: (sandbox, isOptional: false))
    }

    private func decode(_ attempt: HostileDecoder.Attempt) -> Result<WebImage, ImageError> {
        Result { () throws(ImageError) in try coders.decode(HostileDecoder.file(attempt)) }
    }

    @Test(
        "What a decoder that is taken over tries is refused, and the next image comes",
        arguments: [
            .openFile, .writeFile, .listDirectory, .statFile, .socket, .connect, .fork, .spawn, .exec, .killApp,
            .attachToApp, .readApp,
            .mapCode, .shareMemory, .thread, .changeLimits, .setUser, .killItself,
        ] as [HostileDecoder.Attempt]
    )
    func refused(_ attempt: HostileDecoder.Attempt) throws {
        let image = try decode(attempt).get()
        #expect(image.pixelSize.width == 1, "\(attempt) was let through")
        #expect(
            try coders.decode(TestImage.quarters(size: PixelSize(width: 64, height: 48), format: .png)).format == .png
        )
    }

    @Test("A worker that says it cannot decode a file does not have it decoded in the app") func unavailable() {
        let optional = CoderRegistry.builtIn(
            adding: [],
            other: HostileDecoder(),
            sandbox: (DecodeSandbox(limit: 1), isOptional: true)
        )
        let error = thrownError { try optional.decode(HostileDecoder.file(.claimUnavailable)) }
        #expect(error != nil)
        #expect(HostileDecoder.decodeCount.withLock { $0 } == 0)
    }

    @Test(
        "A decoder that breaks costs its image an error, and the next image comes",
        arguments: [.crash, .trap, .abort, .exit, .closeSocket, .closeSocketAndStay, .lie] as [HostileDecoder.Attempt]
    )
    func crashes(_ attempt: HostileDecoder.Attempt) throws {
        guard case .failure(let error) = decode(attempt) else {
            Issue.record("\(attempt) went well")
            return
        }
        #expect(error.code == .decoderCrashed)
        #expect(
            try coders.decode(TestImage.quarters(size: PixelSize(width: 64, height: 48), format: .jpeg)).format == .jpeg
        )
    }

    @Test("A decoder that never ends is ended, and the next image comes") func loops() throws {
        guard case .failure(let error) = decode(.loop) else { return }
        #expect(error.code == .decoderTimedOut)
        #expect(
            try coders.decode(TestImage.quarters(size: PixelSize(width: 64, height: 48), format: .png)).format == .png
        )
    }

    @Test(
        "What a file has done to a worker is not blamed on the next one",
        arguments: [.crashLater, .loopLater, .lieLater, .refuseLater] as [HostileDecoder.Attempt]
    )
    func grudges(_ attempt: HostileDecoder.Attempt) throws {
        let sandbox = DecodeSandbox(paths: [WorkerProgram.own], limit: 1, timeLimit: .seconds(1), patience: 200)
        let coders = CoderRegistry.builtIn(
            adding: [],
            other: HostileDecoder(),
            sandbox: (sandbox, isOptional: false)
        )
        _ = try coders.decode(HostileDecoder.file(attempt))
        #expect(
            try coders.decode(TestImage.quarters(size: PixelSize(width: 64, height: 48), format: .png)).format == .png
        )
    }

    @Test("A worker with more threads than decoders start takes no other file") func threads() throws {
        let coder = sandbox.sandboxed(HostileDecoder(), isOptional: false, neverHere: [], in: .modules)
        _ = try coder.decode(HostileDecoder.file(.manyThreads), options: DecodeOptions())
        #expect(sandbox.processes == [])
    }

    @Test("A decoder cannot take all memory") func memory() throws {
        switch decode(.exhaustMemory) {
        case .success(let image): #expect(image.pixelSize.width == 1)
        case .failure(let error): #expect([.decoderCrashed, .decoderTimedOut].contains(error.code))
        }
        #expect(
            try coders.decode(TestImage.quarters(size: PixelSize(width: 64, height: 48), format: .png)).format == .png
        )
    }

    @Test("The workers say what protects the app from them") func status() throws {
        _ = try coders.decode(TestImage.quarters(size: PixelSize(width: 64, height: 48), format: .png))
        let status = sandbox.status
        #expect(status.isSandboxed)
        #expect(status.protections.isSuperset(of: [.noNewPrivileges, .systemCalls, .resources]))
    }
}
