internal import CWebImageCurl
internal import CWebImageShims
import WebImageCore

extension TransferMetrics {
    /// Reads the times and counts of a transfer from libcurl.
    mutating func measure(_ handle: CurlHandle) {
        func time(_ info: CURLINFO) -> Duration { .microseconds(handle.offset(info)) }
        nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        connect = max(nameLookup, time(CURLINFO_CONNECT_TIME_T))
        secureConnect = max(connect, time(CURLINFO_APPCONNECT_TIME_T))
        firstByte = max(secureConnect, time(CURLINFO_STARTTRANSFER_TIME_T))
        total = max(firstByte, time(CURLINFO_TOTAL_TIME_T))
        receivedByteCount = handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
        isReusedConnection = handle.long(CURLINFO_NUM_CONNECTS) == 0
        protocolName =
            switch handle.long(CURLINFO_HTTP_VERSION) {
            case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
            case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
            case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
            case Int(CURL_HTTP_VERSION_3): "HTTP/3"
            default: ""
            }
    }
}
