package import FoundationEssentials
import Glibc

// A URL can contain secrets: `user:password@` before the host, and tokens in the query.
extension URL {
    /// The user name and password as written in the URL; `nil` if there are none.
    package var userInfo: String? {
        let text = absoluteString
        // Few URLs have a user name or a password, and every request asks several times.
        guard !text.isDataURL, text.contains(anyOf: "@") else { return nil }
        return Self.userInfoRange(in: text).map { String(text[$0].dropLast()) }
    }

    /// The text of the URL without user name and password.
    package var textWithoutUserInfo: String {
        let text = absoluteString
        guard let range = Self.userInfoRange(in: text) else { return text }
        return String(text[..<range.lowerBound] + text[range.upperBound...])
    }

    /// The URL for the keys of the caches, with ``userKey`` instead of user name and password.
    var textForKeys: String {
        userKey.map { textWithoutUserInfo + $0 } ?? absoluteString
    }

    /// Represents user name and password in the keys of the caches, because servers give users different images. It is
    /// a part of a hash that includes the host, so that equal passwords are not recognizable; `nil` if there are none.
    var userKey: String? {
        guard let userInfo else { return nil }
        let digits = SHA256.hash(Array("\(userInfo)@\(host() ?? "")".utf8)).prefix(8)
        return "#user=" + digits.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The URL for messages: without user name, password and fragment, and without the values of the query.
    package var textForMessages: String {
        let text = textWithoutUserInfo
        guard Self.authorityStart(in: text) != nil else {
            // `http:/user:password@host` has no host, but its path may contain a password.
            guard let scheme, !["data", "file", "resource"].contains(scheme.lowercased()) else {
                return String(text.prefix(200))
            }
            return "\(scheme):…"
        }
        let parts = text.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = String((parts.first ?? "").prefix(200))
        guard parts.count > 1 else { return path }
        let items = parts[1].split(separator: "&").map { item in
            item.firstIndex(of: "=").map { item[..<$0] + "=…" } ?? "…"
        }
        return String("\(path)?\(items.joined(separator: "&"))".prefix(300))
    }

    private static func authorityStart(in text: String) -> String.Index? {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let rest = bytes[bytes.index(after: colon)...]
        return rest.starts(with: "//".utf8) ? rest.index(rest.startIndex, offsetBy: 2) : nil
    }

    /// The range of the user name and the password, with the at sign behind them (RFC 3986, section 3.2.1).
    private static func userInfoRange(in text: String) -> Range<String.Index>? {
        guard let start = authorityStart(in: text) else { return nil }
        var end: String.Index?
        var index = start
        while index < text.utf8.endIndex {
            switch text.utf8[index] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return end.map { start..<$0 }
            case UInt8(ascii: "@"): end = text.utf8.index(after: index)
            default: break
            }
            text.utf8.formIndex(after: &index)
        }
        return end.map { start..<$0 }
    }
}

extension String {
    /// Whether the text is a `data:` URL, which may have megabytes.
    var isDataURL: Bool { utf8.prefix(5).elementsEqual("data:".utf8) { $0 | 0x20 == $1 } }

    /// Whether the text contains one of two ASCII characters.
    func contains(anyOf first: Unicode.Scalar, _ second: Unicode.Scalar = "\0") -> Bool {
        let (first, second) = (UInt8(ascii: first), UInt8(ascii: second))
        return utf8.withContiguousStorageIfAvailable { bytes in
            guard let start = bytes.baseAddress else { return false }
            let hasFirst = memchr(start, Int32(first), bytes.count) != nil
            return hasFirst || second != 0 && memchr(start, Int32(second), bytes.count) != nil
        } ?? utf8.contains { $0 == first || $0 == second }
    }
}
