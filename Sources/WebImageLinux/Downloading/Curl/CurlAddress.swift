internal import CWebImageCurl
import FoundationEssentials

/// Reads URLs in the same way as libcurl.
enum CurlAddress {
    /// CURLU_PUNYCODE, which headers before libcurl 7.88 do not have.
    private static let punycode: UInt32 = 1 << 12

    /// The URL with the host that libcurl would connect to: in lower case, without percent escapes and trailing dot. An
    /// IPv4 address, which may be written as one number, in hexadecimal or in other digits, gets its usual form.
    /// - Returns: `nil` if libcurl cannot read the URL.
    static func normalized(_ url: URL) -> URL? {
        guard let parser = curl_url() else { return nil }
        defer { curl_url_cleanup(parser) }
        guard curl_url_set(parser, CURLUPART_URL, url.absoluteString, 0) == CURLUE_OK else { return nil }
        // Digits of other scripts become an address only in the first round.
        for _ in 0..<2 {
            guard var host = text(CURLUPART_HOST, of: parser, punycode)?.lowercased() else { return nil }
            if host.hasSuffix(".") { host.removeLast() }
            guard curl_url_set(parser, CURLUPART_HOST, host, 0) == CURLUE_OK,
                let whole = text(CURLUPART_URL, of: parser, 0),
                curl_url_set(parser, CURLUPART_URL, whole, 0) == CURLUE_OK
            else { return nil }
        }
        return text(CURLUPART_URL, of: parser, 0).flatMap { URL(string: $0) }
    }

    /// The host of a URL as libcurl would connect to it.
    static func host(of url: URL) -> String { (normalized(url) ?? url).host()?.lowercased() ?? "" }

    /// The URL of a proxy without its user name and password.
    static func withoutUser(_ address: String) -> String {
        guard let parser = curl_url() else { return address }
        defer { curl_url_cleanup(parser) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
        guard curl_url_set(parser, CURLUPART_URL, address, flags) == CURLUE_OK else { return address }
        curl_url_set(parser, CURLUPART_USER, nil, 0)
        curl_url_set(parser, CURLUPART_PASSWORD, nil, 0)
        return text(CURLUPART_URL, of: parser, 0) ?? address
    }

    private static func text(_ part: CURLUPart, of parser: OpaquePointer, _ flags: UInt32) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(parser, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
