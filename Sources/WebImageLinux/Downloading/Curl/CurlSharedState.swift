internal import CWebImageCurl
internal import CWebImageShims

/// What transfers have in common beside their connections: which hosts want TLS (HSTS, RFC 6797), and for those that
/// ask for it, cookies. In memory, for as long as the network thread lives, which is the only one to use it.
final class CurlSharedState {
    // A share with cookies hands them to every transfer that uses it, so there are two.
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

    func share(hasCookies: Bool) -> UnsafeMutableRawPointer { hasCookies ? withCookies : plain }
}
