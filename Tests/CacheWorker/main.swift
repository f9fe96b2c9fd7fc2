import Foundation
import WebImageCore
import WebImageLinux

// Uses a directory of the disk cache as one of several processes, until its time is over or it is killed:
// CacheWorker DIRECTORY SECONDS KEYS LIMIT [OPERATIONS]. It does as many operations at least, however slow the machine is.
// Prints the numbers of its operations and of wrong entries.

//
// CacheWorker DIRECTORY loads images and exits at once.

let arguments = CommandLine.arguments
if arguments.count == 2 { ExitingLoad.run(in: arguments[1]) }
let (directory, seconds, keyCount, limit) = (
    arguments[1], Double(arguments[2])!, Int(arguments[3])!, Int(arguments[4])!
)
let leastCount = arguments.count > 5 ? Int(arguments[5])! : 0
let cache = DiskCache(directory: directory, limits: DiskLimits(sizeLimit: limit), hashes: .standard)
var (stored, hits, misses, wrong) = (0, 0, 0, 0)

/// The content of a key: its number over and over, after a generation byte.
func content(_ number: Int) -> Data {
    let count = 500 + number * 37 % 8000
    // Copied, since a closure for each byte takes a debug build most of the time.
    let period = Data((0..<256).map { UInt8(truncatingIfNeeded: $0 &* number) })
    var bytes = Data(capacity: count)
    while bytes.count < count { bytes.append(period.prefix(count - bytes.count)) }
    bytes[0] = UInt8.random(in: 0...255)
    return bytes
}

func isRight(_ entry: CacheEntry, _ number: Int) -> Bool {
    let expected = content(number)
    return entry.data.count == expected.count && entry.data.dropFirst() == expected.dropFirst()
        && entry.response.etag == "\(number)"
}

let deadline = ContinuousClock.now + .seconds(seconds)
var count = 0
while ContinuousClock.now < deadline || count < leastCount {
    count += 1
    let number = Int.random(in: 0..<keyCount)
    let key = "http://host/\(number).jpg"
    switch Int.random(in: 0..<100) {
    case 0..<45:
        var entry = CacheEntry(key: key, data: content(number), storedAt: Date())
        entry.response.etag = "\(number)"
        cache.store(entry)
        if Bool.random() { cache.flush() }
        stored += 1
    case 45..<96:
        guard let entry = cache.entry(for: key) else {
            misses += 1
            continue
        }
        if isRight(entry, number) { hits += 1 } else { wrong += 1 }
    case 96..<98: cache.remove(key)
    default: cache.removeExpired()
    }
}
cache.flush()
print("stored \(stored) hits \(hits) misses \(misses) wrong \(wrong) failures \(cache.failureCount)")
