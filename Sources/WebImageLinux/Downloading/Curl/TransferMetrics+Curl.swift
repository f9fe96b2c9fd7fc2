internal import CWebImageCurl
internal import CWebImageShims
import WebImageCore

extension TransferMetrics {
    /// Reads what libcurl has counted.
    mutating func measure(_ easy: UnsafeMutableRawPointer) {
        func time(_ info: CURLINFO) -> Duration { .microseconds(number(info)) }
        func number(_ info: CURLINFO) -> Int64 {
            var value: curl_off_t = 0
            gwi_curl_get_offset(easy, info, &value)
            return Int64(value)
        }
        func long(_ info: CURLINFO) -> Int {
            var value = 0
            gwi_curl_get_long(easy, info, &value)
            return value
        }
        nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        connect = max(nameLookup, time(CURLINFO_CONNECT_TIME_T))
        secureConnect = max(connect, time(CURLINFO_APPCONNECT_TIME_T))
        firstByte = max(secureConnect, time(CURLINFO_STARTTRANSFER_TIME_T))
        total = max(firstByte, time(CURLINFO_TOTAL_TIME_T))
        receivedByteCount = number(CURLINFO_SIZE_DOWNLOAD_T)
        isReusedConnection = long(CURLINFO_NUM_CONNECTS) == 0
        protocolName =
            switch long(CURLINFO_HTTP_VERSION) {
            case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
            case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
            case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
            case Int(CURL_HTTP_VERSION_3): "HTTP/3"
            default: ""
            }
    }
}
