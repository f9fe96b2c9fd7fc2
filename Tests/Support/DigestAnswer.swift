internal import CWebImageGLib

/// The parsed answer of a client to a Digest challenge (RFC 7616, 3.4).
package struct DigestAnswer {
    private var fields: [String: String] = [:]

    package init?(_ field: String) {
        guard field.hasPrefix("Digest ") else { return nil }
        for part in field.dropFirst(7).split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1)
            guard sides.count == 2 else { continue }
            fields[String(sides[0].filter { $0 != " " })] = String(sides[1].filter { $0 != "\"" && $0 != " " })
        }
    }

    /// Whether the answer proves the password, for GET, MD5 and qop=auth.
    package func isRight(user: String, password: String) -> Bool {
        let value = { (name: String) in fields[name] ?? "" }
        let first = Self.md5("\(user):\(value("realm")):\(password)")
        let second = Self.md5("GET:\(value("uri"))")
        let middle = "\(value("nonce")):\(value("nc")):\(value("cnonce")):\(value("qop"))"
        return value("response") == Self.md5("\(first):\(middle):\(second)") && value("username") == user
    }

    private static func md5(_ text: String) -> String {
        guard let digest = g_compute_checksum_for_string(G_CHECKSUM_MD5, text, -1) else { return "" }
        defer { g_free(digest) }
        return String(cString: digest)
    }
}
