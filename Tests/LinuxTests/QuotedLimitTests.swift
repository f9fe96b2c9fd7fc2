import Foundation
import Testing
import WebImageCore

@testable import WebImageLinux

/// Compares the limits that the pages quote with the library.
///
/// A row of the table has a limit, what the library says, and the phrases with which pages quote it. A phrase is a regular
/// expression over the text of a page, in which a line break is a space, with one placeholder for the quoted value:
///
/// - `{number}`: 24, 10,000, 0.5, or a word from one to ten, and "twice" or "once"
/// - `{bytes}`: 256 MiB, 500 MB, 128 bytes, "a gigabyte"; in bytes
/// - `{time}`: 15 seconds, 30 s, five minutes, "a week"; in seconds
/// - `{share}`: "an eighth", "a quarter"; as a fraction
///
/// Each text that matches has to quote the right value, on whatever page. When a page is rewritten and nothing matches any
/// more, the row fails too: add the new wording as a phrase, and take out one that no page has. Write a phrase so narrow that
/// it cannot match a sentence about another limit, with the words or the backquoted property beside the number.
@Suite("Limits that pages quote")
struct QuotedLimitTests {
    struct Limit: Sendable, CustomTestStringConvertible {
        let name: String
        /// Whether a quoted value is that of the library.
        let isRight: @Sendable (Double) -> Bool
        let phrases: [String]
        var testDescription: String { name }

        init(_ name: String, is value: Int, _ phrases: String...) {
            (self.name, isRight, self.phrases) = (name, { $0 == Double(value) }, phrases)
        }

        init(_ name: String, is value: Double?, _ phrases: String...) {
            (self.name, isRight, self.phrases) = (name, { $0 == value }, phrases)
        }

        init(_ name: String, is value: Duration?, _ phrases: String...) {
            let seconds = value.map { $0 / .seconds(1) }
            (self.name, isRight, self.phrases) = (name, { $0 == seconds }, phrases)
        }

        init(_ name: String, where isRight: @escaping @Sendable (Double) -> Bool, _ phrases: String...) {
            (self.name, self.isRight, self.phrases) = (name, isRight, phrases)
        }
    }

    private static let manager = ImageManager.Configuration()
    private static let disk = ImageManager.Configuration.DiskCache(namespace: "limits")
    private static let downloader = ImageDownloader.Configuration()
    private static let retries = ImageRetryPolicy()
    private static let memory = SystemResources.memorySize

    private static let limits = [
        Limit(
            "Memory cache, largest",
            where: { min(memory / 8, Int($0)) == manager.maximumMemoryCacheByteCount },
            "machine's memory, (?:at most|up to) {bytes}, and"
        ),
        Limit(
            "Memory cache, share",
            where: { min(Int(Double(memory) * $0), 256 << 20) == manager.maximumMemoryCacheByteCount },
            "\\| {share} of (?:the machine's |the )?memory, (?:at most|up to)"
        ),
        Limit(
            "Memory cache, images",
            is: manager.maximumMemoryCacheCount,
            "MiB,? and {number} images",
            "`maximumMemoryCacheCount`[^.|]*\\| {number}"
        ),
        Limit(
            "Disk cache, largest",
            is: ImageManager.Configuration.DiskCache.largestDefaultSizeLimit,
            "free (?:disk )?space[^.|]*, (?:at most|up to) {bytes}"
        ),
        Limit("Disk cache, age", is: disk.maximumAge, "{time} after (?:the|its) last use", "unused for {time}"),
        Limit("Disk cache, renditions", is: disk.renditionShare, "{share} of the disk cache"),
        Limit("Attachment", is: CacheEntry.maximumAttachmentByteCount, "attach up to {bytes} to an original"),
        Limit("Retries", is: retries.maximumCount, "is tried again {number}, after"),
        Limit("Retries, first delay", is: retries.initialDelay / .seconds(1), "after about {number} and \\S+ seconds?"),
        Limit("Retries, longest delay", is: retries.maximumDelay, "the one before, at most {time}, and shortened"),
        Limit("Retries, factor", is: retries.multiplier, "{number} as long as the one before"),
        Limit("Retries, jitter", is: retries.jitter, "shortened at random by up to {share}"),
        Limit("Failures", is: manager.failureCacheDuration, "remembered for {time}", "less than {time} ago"),
        Limit(
            "Redirects",
            is: downloader.maximumRedirects,
            "[Uu]p to {number} redirects",
            "\\| Redirects \\| {number} \\|"
        ),
        Limit(
            "Time to connect",
            is: downloader.connectTimeout,
            "`connectTimeout` \\|[^|]*\\| {time}",
            "Time to connect[^|]*\\| {time}"
        ),
        Limit(
            "Time without a byte",
            is: downloader.idleTimeout,
            "`idleTimeout` \\|[^|]*\\| {time}",
            "without a byte \\| {time}"
        ),
        Limit(
            "Transfers",
            is: downloader.maximumConcurrentTransfers,
            "{number} transfers (?:run )?at (?:a time|once)",
            "Transfers, and of one server \\| {number},"
        ),
        Limit(
            "Transfers of a server",
            is: downloader.maximumTransfersPerHost,
            "{number} of them from one server",
            "Transfers, and of one server \\| \\d+, {number}"
        ),
        Limit("Starts a second", is: downloader.rateLimit?.perSecond, "at most {number} transfers a second start"),
        Limit("Starts at once", is: Double(downloader.rateLimit?.burst ?? 0), "and {number} at once after a pause"),
        Limit(
            "Body",
            is: downloader.maximumByteCount,
            "Bytes of a body, before and after [^|]*\\| {bytes}",
            "files of {bytes} \\(`maximumByteCount`"
        ),
        Limit("Pixels", is: manager.maximumPixelCount, "Pixels of an image \\| {number}"),
        Limit(
            "Memory of all loads",
            is: MemoryBudget.largestLimit,
            "A quarter of the memory, at most {bytes}, is divided",
            "a quarter of the memory, and at most {bytes}"
        ),
        Limit(
            "Bytes that name a format",
            is: ImageFormat.longestSniffLength,
            "within the first {bytes}",
            "without an end in place of an image \\| the first {bytes}"
        ),
        Limit(
            "Proxy service",
            is: ProxyResolver.standardTimeLimit,
            "Silent proxy service \\| {time}",
            "do not answer in {time},"
        ),
        Limit("Slowest transfer", is: Exchange.minimumSpeed, "{bytes} per second while others wait"),
        Limit("Partial images", is: ProgressiveOptions().interval, "at most one partial image each {time}"),
        Limit(
            "Prefetches",
            is: ImagePrefetcher(manager: ImageManager(configuration: manager)).maximumConcurrentCount,
            "{number} loads run at a time"
        ),
        Limit("Step of an animation", is: FrameBuffer.longestStep, "a frame or {time} at a time"),
    ]

    private static let texts: [(page: String, text: String)] = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let names = (FileManager.default.enumerator(atPath: root.appending(path: "Sources").path())?.allObjects ?? [])
            .compactMap { $0 as? String }.filter { $0.contains(".docc/") && $0.hasSuffix(".md") }.sorted()
        return (["README.md", ".github/CONTRIBUTING.md"] + names.map { "Sources/\($0)" }).compactMap { page in
            (try? String(contentsOf: root.appending(path: page), encoding: .utf8)).map { (page, $0) }
        }
    }()

    @Test("Each quoted value is that of the library", arguments: limits)
    func values(limit: Limit) throws {
        var count = 0
        for (page, text) in Self.texts {
            for quote in try Self.quotes(of: limit.phrases, in: text) {
                count += 1
                #expect(quote.value.map(limit.isRight) == true, "\(page) says of \(limit.name): \(quote.text)")
            }
        }
        #expect(count > 0, "No page says anything of \(limit.name) in one of these words: \(limit.phrases)")
    }

    @Test("Numbers, units, times and shares are read in figures and in words")
    func reading() throws {
        func value(_ placeholder: String, _ text: String) throws -> Double? {
            try Self.quotes(of: ["at most {\(placeholder)} here"], in: "It takes at\nmost \(text) here.").first?.value
        }
        #expect(try value("number", "10,000") == 10_000)
        #expect(try value("number", "six") == 6)
        #expect(try value("number", "0.5") == 0.5)
        #expect(try value("bytes", "256 MiB") == 268_435_456)
        #expect(try value("bytes", "500 MB") == 500_000_000)
        #expect(try value("bytes", "a gigabyte") == 1_073_741_824)
        #expect(try value("time", "15 s") == 15)
        #expect(try value("time", "20 ms") == 0.02)
        #expect(try value("time", "five minutes") == 300)
        #expect(try value("time", "a week") == 604_800)
        #expect(try value("share", "an eighth") == 0.125)
        #expect(try value("number", "many") == nil)
    }

    @Test("A quoted value that is wrong, and a limit that no page quotes, are found")
    func mistakes() throws {
        let limit = Limit("Transfers", is: 24, "{number} transfers at (?:a time|once)")
        let right = try Self.quotes(of: limit.phrases, in: "At most 24 transfers\nat a time.")
        let wrong = try Self.quotes(of: limit.phrases, in: "At most 23 transfers at once, or 24 transfers at a time.")
        #expect(right.map { $0.value.map(limit.isRight) } == [true])
        #expect(wrong.map { $0.value.map(limit.isRight) } == [false, true])
        #expect(try Self.quotes(of: limit.phrases, in: "At most 24 downloads at once.").isEmpty)
    }
}

// MARK: - Reading

extension QuotedLimitTests {
    private struct Quote {
        let text: String
        let value: Double?
    }

    private static let words: [String: Double] = [
        "once": 1, "one": 1, "a": 1, "an": 1, "twice": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
        "seven": 7, "eight": 8,
        "nine": 9, "ten": 10,
    ]
    private static let units: [String: Double] = [
        "byte": 1, "KiB": 0x1p10, "MiB": 0x1p20, "GiB": 0x1p30, "kilobyte": 0x1p10, "megabyte": 0x1p20,
        "gigabyte": 0x1p30,
        "KB": 1e3, "MB": 1e6, "GB": 1e9, "ms": 1e-3, "millisecond": 1e-3, "s": 1, "second": 1, "minute": 60,
        "hour": 3600,
        "day": 86_400, "week": 604_800,
    ]
    private static let shares: [String: Double] = [
        "half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "eighth": 1 / 8, "tenth": 1 / 10,
        "sixteenth": 1 / 16,
    ]

    private static func quotes(of phrases: [String], in text: String) throws -> [Quote] {
        let number = "(?:\\d[\\d,]*(?:\\.\\d+)?|(?i:\(words.keys.sorted().reversed().joined(separator: "|"))))"
        let text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return try phrases.flatMap { phrase in
            let pattern =
                phrase
                .replacing("{number}", with: "\\b(\(number))")
                .replacing("{bytes}", with: "\\b(\(number) (?:[KMG]i?B|bytes?|\\w+bytes?))")
                .replacing(
                    "{time}",
                    with: "\\b(\(number) (?:ms|s|milliseconds?|seconds?|minutes?|hours?|days?|weeks?))\\b"
                )
                .replacing("{share}", with: "\\b(an? (?:\(shares.keys.sorted().joined(separator: "|"))))")
            return try text.matches(of: Regex(pattern)).map { match in
                Quote(
                    text: String(text[match.range]),
                    value: match.output[1].substring.flatMap { value(of: String($0)) }
                )
            }
        }
    }

    private static func value(of text: String) -> Double? {
        let parts = text.split(separator: " ").map(String.init)
        let number = words[parts[0].lowercased()] ?? Double(parts[0].replacing(",", with: ""))
        guard parts.count == 2, let number else { return number }
        let unit = parts[1]
        let factor = shares[unit] ?? units[unit] ?? (unit.hasSuffix("s") ? units[String(unit.dropLast())] : nil)
        return factor.map { number * $0 }
    }
}
