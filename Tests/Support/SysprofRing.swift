import Foundation
import Glibc

/// A buffer for marks as sysprof makes and reads it (mapped-ring-buffer.c, sysprof-capture-types.h): a page with the positions, and a
/// body whose frames go on at its beginning when its end is reached.
///
/// @unchecked: the mapping is not exchanged, and the positions in it are read and written atomically enough for one reader.
package final class SysprofRing: @unchecked Sendable {
    package struct Mark: Equatable {
        package let group: String
        package let name: String
        package let message: String
        package let process: Int32
        /// Nanoseconds of CLOCK_MONOTONIC.
        package let start: Int64
        package let duration: Int64
        package var end: Int64 { start + duration }
    }

    /// The fields of the first page.
    package enum Field: Int, CaseIterable {
        case head
        case tail
        case offset
        case size
    }

    package static let page = Int(sysconf(Int32(_SC_PAGESIZE)))

    package let file: Int32
    private let map: UnsafeMutableRawPointer
    private let size: Int

    /// - Parameters:
    ///   - size: The bytes of the body; whole pages in sysprof.
    ///   - change: Changes fields of the first page, which are right otherwise.
    package init(size: Int, _ change: [Field: Int] = [:]) throws {
        var template = Array("\(FileManager.default.temporaryDirectory.path())gwi-ring-XXXXXX".utf8CString)
        file = mkstemp(&template)
        unlink(template)
        self.size = size
        guard file >= 0, ftruncate(file, off_t(Self.page + size)) == 0,
            let map = mmap(nil, Self.page + size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), map != MAP_FAILED
        else { throw POSIXError(.ENOSPC) }
        self.map = map
        self[.offset] = Self.page
        self[.size] = size
        for (field, value) in change { self[field] = value }
    }

    deinit {
        munmap(map, Self.page + size)
        close(file)
    }

    package subscript(field: Field) -> Int {
        get { Int(map.load(fromByteOffset: field.rawValue * 4, as: UInt32.self)) }
        set { map.storeBytes(of: UInt32(newValue), toByteOffset: field.rawValue * 4, as: UInt32.self) }
    }

    /// The bytes behind the first page.
    package var body: [UInt8] { (0..<size).map { map.load(fromByteOffset: Self.page + $0, as: UInt8.self) } }

    /// Reads the marks that have come since the last time, and makes their room free.
    /// - Returns: `nil` when a frame is none of a mark.
    package func read() -> [Mark]? {
        var marks: [Mark] = []
        let tail = self[.tail]
        while self[.head] != tail {
            guard let (mark, length) = mark(at: self[.head]) else { return nil }
            marks.append(mark)
            self[.head] = (self[.head] + length) % size
        }
        return marks
    }

    /// The mark of a frame, and the length of the frame.
    private func mark(at position: Int) -> (Mark, Int)? {
        func bytes(_ offset: Int, _ count: Int) -> [UInt8] {
            (position + offset..<position + offset + count).map { position in
                map.load(fromByteOffset: Self.page + position % size, as: UInt8.self)
            }
        }
        func number<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
            bytes(offset, MemoryLayout<Number>.size).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
        }
        func text(_ offset: Int, _ count: Int) -> String? {
            let bytes = bytes(offset, count)
            return bytes.firstIndex(of: 0).map { String(decoding: bytes[..<$0], as: UTF8.self) }
        }
        let length = Int(number(0, as: UInt16.self))
        // SYSPROF_CAPTURE_FRAME_MARK is 10, and frames have whole words.
        guard length > 96, length.isMultiple(of: 8), length < size, number(16, as: UInt8.self) == 10,
            let group = text(32, 24), let name = text(56, 40), let message = text(96, length - 96)
        else { return nil }
        let mark = Mark(
            group: group,
            name: name,
            message: message,
            process: number(4, as: Int32.self),
            start: number(8, as: Int64.self),
            duration: number(24, as: Int64.self)
        )
        return (mark, length)
    }
}
