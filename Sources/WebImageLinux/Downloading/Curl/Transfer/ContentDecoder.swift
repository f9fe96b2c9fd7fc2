internal import CWebImageGLib
import FoundationEssentials
import WebImageCore

/// Removes the content coding of a body (Content-Encoding: RFC 9110, 8.4) while it arrives.
///
/// libcurl could do it, but it does not report a truncated coding, and rejects gzip files with several members.
final class ContentDecoder {
    enum Failure: Error {
        /// The coding is damaged.
        case damaged
        /// There are more encoded bytes than the limit.
        case tooLarge
        /// There are more decoded bytes than an image of that encoded size has.
        case tooDense
    }

    /// The codings that requests accept.
    static let accepted = "gzip, deflate"
    /// The decoded bytes allowed for each encoded byte, after the first few million, so that a bomb cannot hold up the network
    /// thread.
    private static let maximumRatio = 100
    private static let freeByteCount = 4 << 20

    private let coding: Coding
    /// The largest number of encoded bytes. Padding and empty members yield no decoded bytes that another limit would
    /// count.
    private let maximumByteCount: Int
    private var receivedCount = 0
    private var decodedCount = 0
    private var converter: OpaquePointer?
    private let output: UnsafeMutableRawBufferPointer
    /// The first bytes, until they identify the format.
    private var head: [UInt8] = []
    /// Whether a coding has begun and not ended.
    private var isOpen = false
    private var hasEnded = false
    /// Whether a member of a gzip file has ended.
    private var hasMembers = false

    private enum Coding {
        case gzip
        case deflate
    }

    /// - Parameters:
    ///   - field: The value of Content-Encoding.
    ///   - maximumByteCount: The largest number of encoded bytes.
    /// - Returns: `nil` if the coding was not asked for, or there are several codings, each of which multiplies the size.
    init?(_ field: String, maximumByteCount: Int) {
        let names = Self.names(in: field)
        switch names {
        case ["gzip"], ["x-gzip"]: coding = .gzip
        case ["deflate"]: coding = .deflate
        default: return nil
        }
        self.maximumByteCount = maximumByteCount
        output = .allocate(byteCount: 64 << 10, alignment: 1)
    }

    deinit {
        if let converter { g_object_unref(UnsafeMutableRawPointer(converter)) }
        output.deallocate()
    }

    /// Whether a field names a coding other than the identity.
    static func isCoded(_ field: String) -> Bool {
        !names(in: field).isEmpty
    }

    /// The codings that a field names. Object stores send other values that were set at the upload of an image, such as
    /// utf-8 or aws-chunked, although the image is not encoded; browsers show it.
    private static func names(in field: String) -> [String] {
        let names = field.lowercased().split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        return names.filter { ["gzip", "x-gzip", "deflate", "br", "zstd"].contains($0) }
    }

    /// Whether the body may end here.
    var isComplete: Bool { !isOpen && head.isEmpty }

    /// Decodes the next bytes.
    /// - Parameter body: Receives decoded bytes, and returns whether it wants more.
    /// - Returns: The last result of `body`.
    func decode(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(Failure) -> Bool {
        receivedCount += bytes.count
        guard receivedCount <= maximumByteCount else { throw .tooLarge }
        guard converter == nil else { return try convert(bytes, body) }
        head += bytes
        // A zlib stream has a header of two bytes.
        guard coding == .gzip || head.count >= 2, !head.isEmpty else { return true }
        converter = g_zlib_decompressor_new(format)
        let first = head
        head = []
        let result: Result<Bool, Failure> = first.withUnsafeBytes { bytes in
            do throws(Failure) { return .success(try convert(bytes, body)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Some servers send a deflate stream without the zlib header that RFC 9110, 8.4.1.2 demands.
    private var format: GZlibCompressorFormat {
        guard coding == .deflate else { return G_ZLIB_COMPRESSOR_FORMAT_GZIP }
        let hasHeader = head[0] & 15 == 8 && (Int(head[0]) << 8 | Int(head[1])) % 31 == 0
        return hasHeader ? G_ZLIB_COMPRESSOR_FORMAT_ZLIB : G_ZLIB_COMPRESSOR_FORMAT_RAW
    }

    private func convert(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(Failure) -> Bool {
        var rest = bytes
        while !hasEnded {
            guard let count = try step(&rest) else { return true }
            decodedCount += count
            let limit = max(Self.freeByteCount, receivedCount * Self.maximumRatio)
            guard decodedCount <= limit else { throw .tooDense }
            if count > 0, !body(UnsafeRawBufferPointer(rebasing: output[..<count])) { return false }
        }
        // Bytes after the last member are padding.
        return true
    }

    /// - Returns: The number of decoded bytes; `nil` if more input is needed.
    private func step(_ rest: inout UnsafeRawBufferPointer) throws(Failure) -> Int? {
        if !isOpen {
            // This is between the members of a gzip file (RFC 1952, 2.2).
            guard let byte = rest.first else { return nil }
            if coding == .gzip, hasMembers, byte != 0x1F {
                hasEnded = true
                return 0
            }
            isOpen = true
        }
        var (read, written) = (gsize(0), gsize(0))
        var failure: UnsafeMutablePointer<GError>?
        // GLib requires an address even for no bytes.
        let start = rest.baseAddress ?? UnsafeRawPointer(output.baseAddress!)
        let result = g_converter_convert(
            converter,
            start,
            gsize(rest.count),
            output.baseAddress,
            gsize(output.count),
            gwi_converter_none,
            &read,
            &written,
            &failure
        )
        defer { g_clear_error(&failure) }
        if result == G_CONVERTER_ERROR {
            guard let code = failure?.pointee.code, code == Int32(G_IO_ERROR_PARTIAL_INPUT.rawValue) else {
                throw .damaged
            }
            return nil
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[Int(read)...])
        if result == G_CONVERTER_FINISHED {
            isOpen = false
            hasMembers = true
            if coding == .deflate { hasEnded = true } else { g_converter_reset(converter) }
        }
        return Int(written)
    }
}
