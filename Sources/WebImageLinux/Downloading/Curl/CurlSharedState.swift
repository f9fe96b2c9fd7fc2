internal import CWebImageCurl
internal import CWebImageShims
import WebImageCore

/// The state that transfers share beside their connections: the hosts that require TLS (HSTS, RFC 6797) and, for the
/// requests that handle them, cookies. It is kept in memory for the life of the network thread, which alone uses it.
final class CurlSharedState {
    // libcurl gives the cookies of a share to every transfer that uses it, hence the second share.
    private let plain: UnsafeMutableRawPointer
    private let withCookies: UnsafeMutableRawPointer

    init() {
        plain = curl_share_init()!
        withCookies = curl_share_init()!
        gwi_curl_share_set_data(plain, CURL_LOCK_DATA_HSTS)
        gwi_curl_share_set_data(withCookies, CURL_LOCK_DATA_HSTS)
        gwi_curl_share_set_data(withCookies, CURL_LOCK_DATA_COOKIE)
    }

    deinit {
        curl_share_cleanup(plain)
        curl_share_cleanup(withCookies)
    }

    func share(for options: NetworkOptions) -> UnsafeMutableRawPointer {
        options.handlesCookies ? withCookies : plain
    }
}
