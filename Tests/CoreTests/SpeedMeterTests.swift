import Foundation
import Testing

@testable import WebImageCore

@Suite("The speed of the connection")
struct SpeedMeterTests {
    private let meter = SpeedMeter()
    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// A transfer that has ended after so many seconds of the test.
    private func transfer(_ byteCount: Int64, in seconds: Double, endingAt end: Double, after wait: Double = 3) {
        var metrics = TransferMetrics()
        metrics.receivedByteCount = byteCount
        (metrics.firstByte, metrics.total) = (.seconds(wait), .seconds(wait + seconds))
        meter.record(metrics, at: start.addingTimeInterval(end))
    }

    private func speed(at seconds: Double) -> Double? { meter.bytesPerSecond(at: start.addingTimeInterval(seconds)) }

    private func isNear(_ speed: Double?, _ expected: Double) -> Bool {
        speed.map { abs($0 - expected) <= expected / 50 } ?? false
    }

    @Test("It is the bytes of a body by the time from its first to its last")
    func one() {
        #expect(speed(at: 0) == nil)
        transfer(200_000, in: 2, endingAt: 5)
        #expect(isNear(speed(at: 5), 100_000), "\(speed(at: 5) ?? 0)")
    }

    @Test("Transfers at the same time add up, however they overlap, and pauses do not count")
    func overlapping() {
        for end in [2.0, 2, 2, 2] { transfer(100_000, in: 2, endingAt: end) }
        #expect(isNear(speed(at: 2), 200_000))
        // One within another, one that reaches over its end, one after a pause.
        let other = SpeedMeterTests()
        other.transfer(100_000, in: 1, endingAt: 4)
        other.transfer(400_000, in: 4, endingAt: 5)
        other.transfer(200_000, in: 2, endingAt: 6)
        other.transfer(100_000, in: 1, endingAt: 20)
        #expect(isNear(other.speed(at: 20), 800_000 / 6), "\(other.speed(at: 20) ?? 0)")
    }

    @Test("What is half a minute older counts half as much")
    func decay() {
        transfer(1_000_000, in: 1, endingAt: 0)
        transfer(100_000, in: 1, endingAt: 30)
        #expect(isNear(speed(at: 30), (1_000_000 * 0.5 + 100_000) / 1.5), "\(speed(at: 30) ?? 0)")
        transfer(100_000, in: 1, endingAt: 200)
        #expect(isNear(speed(at: 200), 110_000), "\(speed(at: 200) ?? 0)")
    }

    @Test("Small bodies say nothing of a connection, and after five minutes nothing is known")
    func silence() {
        transfer(16_383, in: 0.001, endingAt: 0)
        #expect(speed(at: 0) == nil)
        transfer(16_384, in: 1, endingAt: 10)
        #expect(isNear(speed(at: 309), 16_384) && speed(at: 310) == nil)
        transfer(160_000, in: 1, endingAt: 1000)
        #expect(isNear(speed(at: 1000), 160_000))
    }

    @Test("Numbers that cannot be true make no nonsense")
    func odd() {
        transfer(1_000_000, in: 0, endingAt: 0)
        #expect((speed(at: 0) ?? 0) > 1_000_000_000)
        transfer(.max, in: -5, endingAt: 1)
        transfer(.min, in: 1, endingAt: 1)
        transfer(100_000, in: 1e9, endingAt: 2)
        let known = speed(at: 2)
        #expect(known.map { $0.isFinite && $0 > 0 } ?? false)
        // A clock that is set back begins anew.
        transfer(200_000, in: 1, endingAt: -3600)
        #expect(isNear(speed(at: -3600), 200_000))
        #expect(speed(at: -3700) == nil)
    }

    @Test("Another network is another speed")
    func networks() {
        transfer(200_000, in: 1, endingAt: 0)
        meter.networkChanged(to: NetworkStatus(isPowerSaving: true))
        #expect(speed(at: 0) != nil)
        meter.networkChanged(to: NetworkStatus(isMetered: true))
        #expect(speed(at: 0) == nil)
        transfer(200_000, in: 1, endingAt: 1)
        meter.networkChanged(to: NetworkStatus(isMetered: true))
        #expect(speed(at: 1) != nil)
        meter.networkChanged(to: NetworkStatus(isAvailable: false, isMetered: true))
        #expect(speed(at: 1) == nil)
    }

    @Test("Of very many transfers the last ones count")
    func many() {
        for number in 0..<10_000 { transfer(1_000_000, in: 0.01, endingAt: Double(number) / 1000) }
        for number in 0..<64 { transfer(20_000, in: 1, endingAt: 11 + Double(number)) }
        #expect(isNear(speed(at: 75), 20_000))
    }

    @Test(
        "The first quality is loaded up to the lower speed, the last from the upper one on, and others in between",
        arguments: [
            (nil, 3), (0, 0), (50_000, 0), (100_000, 0), (150_000, 1), (300_000, 2), (450_000, 3), (500_000, 3),
            (.infinity, 3), (.nan, 3), (-5, 0),
        ] as [(Double?, Int)]
    )
    func ranks(speed: Double?, rank: Int) throws {
        let urls = try (0..<4).map { try #require(URL(string: "https://host/\($0)")) }
        let variants = ImageVariants(url: urls[0], qualities: urls)
        #expect(variants.rank(forSpeed: speed, isMetered: false) == rank)
        #expect(variants.rank(forSpeed: speed, isMetered: true) == 0)
        #expect(variants.urls == urls && variants.differInQuality)
        // A range without a width has two qualities, and one without end the first and maybe the last.
        let sharp = ImageVariants(url: urls[0], qualities: urls, speeds: 1000...1000)
        #expect(sharp.rank(forSpeed: 999, isMetered: false) == 0 && sharp.rank(forSpeed: 1001, isMetered: false) == 3)
        let endless = ImageVariants(url: urls[0], qualities: urls, speeds: -.infinity ... .infinity)
        #expect([0, 3].contains(endless.rank(forSpeed: speed, isMetered: false)))
    }

    @Test("Without qualities the URL is loaded, and of very many the first 64 count")
    func counts() throws {
        let url = try #require(URL(string: "https://host/a"))
        #expect(ImageVariants(url: url, qualities: []).rank(forSpeed: nil, isMetered: false) == nil)
        #expect(ImageVariants(url: url, qualities: [url]).rank(forSpeed: 1, isMetered: false) == 0)
        #expect(ImageVariants(url: url, qualities: Array(repeating: url, count: 1000)).urls.count == 64)
    }
}
