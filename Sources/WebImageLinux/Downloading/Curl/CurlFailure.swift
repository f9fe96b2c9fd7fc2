internal import CWebImageCurl
import WebImageCore

/// What the error codes of libcurl mean to those who load images.
enum CurlFailure {
    static func error(_ code: CURLcode, message: String, _ transfer: CurlTransfer) -> ImageError {
        let reason = message.isEmpty ? String(cString: curl_easy_strerror(code)) : message
        switch code {
        case CURLE_URL_MALFORMAT:
            return transfer.error(.invalidURL, "The URL is malformed (\(reason))", remedy: "Correct the URL.")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return transfer.error(
                .hostNotFound,
                "The host is not known (\(reason))",
                remedy: "Check the host name, and whether this machine is online."
            )
        case CURLE_OPERATION_TIMEDOUT:
            return transfer.error(.timedOut, "The server took too long (\(reason))")
        case CURLE_FILESIZE_EXCEEDED:
            return transfer.tooLarge
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS:
            return transfer.error(
                .tlsFailed,
                "No trusted connection (\(reason))",
                remedy: "Check the server's certificate, this machine's clock, and the package ca-certificates."
            )
        case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2_STREAM, CURLE_HTTP2:
            return transfer.error(.transferIncomplete, "The connection ended too early (\(reason))")
        // An answer that is no HTTP has the first of these codes.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
            return transfer.error(.badResponse, "The server's answer makes no sense (\(reason))")
        default:
            return transfer.error(.connectionFailed, "No connection (\(reason))")
        }
    }
}
