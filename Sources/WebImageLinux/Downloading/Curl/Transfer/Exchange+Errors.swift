internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// The errors of an exchange, each with the URL of the load and the head of the last response.
extension Exchange {
    func error(
        _ code: ImageError.Code,
        _ reason: String,
        remedy: String? = nil,
        retryAfter: Duration? = nil
    ) -> ImageError {
        ImageError(
            code,
            url: request.key.url,
            reason: reason,
            remedy: remedy ?? "Check the network and the server, then load the image again.",
            // Fields may have arrived without the end of the head.
            head: head ?? (handle.map(\.status) ?? 0 == 0 ? nil : readHead()),
            retryAfter: retryAfter
        )
    }

    /// Makes the error for a result of libcurl.
    func error(_ code: CURLcode, message: String) -> ImageError {
        let cause = message.isEmpty ? String(cString: curl_easy_strerror(code)) : message
        switch code {
        case CURLE_URL_MALFORMAT:
            return error(.invalidURL, "The URL is malformed (\(cause))", remedy: "Correct the URL.")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            let remedy = "Check the host name, and whether this machine is online."
            return error(.hostNotFound, "The host name cannot be resolved (\(cause))", remedy: remedy)
        case CURLE_FILESIZE_EXCEEDED:
            return bodyTooLarge
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            let remedy = "Check the server's certificate, this machine's clock, and the package ca-certificates."
            return error(.tlsFailed, "A secure connection cannot be established (\(cause))", remedy: remedy)
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return pinsUnmatched(cause)
        case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2_STREAM, CURLE_HTTP2:
            return error(.transferIncomplete, "The connection was closed before the end of the body (\(cause))")
        // libcurl allocates no memory for a header line above 100 KB, and reports CURLE_TOO_LARGE from version 8.6 on.
        case CURLE_OUT_OF_MEMORY where head == nil, CURLcode(rawValue: 100) where head == nil:
            return headTooLarge
        // libcurl reports a reply that is not HTTP as an unsupported protocol, and a head that begins with a folded line as a bad
        // argument.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_WEIRD_SERVER_REPLY,
            CURLE_BAD_CONTENT_ENCODING:
            return error(.badResponse, "The server's response is not valid HTTP (\(cause))")
        default:
            return error(.connectionFailed, "The connection failed (\(cause))")
        }
    }

    private func pinsUnmatched(_ cause: String) -> ImageError {
        let malformed = (request.configuration.pinnedKeys(for: request.message.url) ?? [])
            .filter { PinnedKeys.problem(of: $0) != nil }.map { "\"\($0.prefix(100))\"" }.sorted()
        let reason = "The key of the server's certificate is none of those that are pinned for the host (\(cause))"
        let remedy =
            malformed.isEmpty
            ? "Add it to pinnedPublicKeys in the downloader's configuration if it is the server's new key."
            : """
            Correct \(malformed.joined(separator: ", ")) in pinnedPublicKeys of the downloader's configuration, which no key has: \
            a key is the Base64 text of a SHA-256 hash.
            """
        return error(.tlsFailed, reason, remedy: remedy)
    }

    var headTooLarge: ImageError {
        let limits = "at most 500 header fields and 256 KiB of them, and less than 100 KB in a line"
        let reason = "The head of the server's response is too large"
        return error(.badResponse, reason, remedy: "Let the server send \(limits).")
    }

    var bodyTooLarge: ImageError {
        let limit = Magnitude.bytes(request.configuration.maximumByteCount)
        let remedy = "Raise maximumByteCount in the downloader's configuration if you expect such files."
        return error(.bodyTooLarge, "The body is larger than the limit of \(limit)", remedy: remedy)
    }

    func error(_ failure: ContentDecoder.Failure) -> ImageError {
        switch failure {
        case .damaged: return error(.badResponse, "The server's response is not compressed as it says")
        case .tooLarge: return bodyTooLarge
        case .tooDense:
            let remedy = "Let the server send it without Content-Encoding if you expect such files."
            let reason = "The compressed body is much larger than what the server has sent"
            return error(.bodyTooLarge, reason, remedy: remedy)
        }
    }

    func unknownCoding(_ coding: String) -> ImageError {
        let reason = "The server compressed the body with \(coding.prefix(100)), which the request did not ask for"
        let remedy = "Let the server compress it once and keep to Accept-Encoding, or set that field in the request."
        return error(.badResponse, reason, remedy: remedy)
    }

    var refusedRequest: ImageError {
        let remedy = "Return a request from the modifier if this URL may be loaded."
        return error(.invalidRequest, "The request modifier refused the request", remedy: remedy)
    }

    /// Wraps an error that a closure of the app has thrown.
    /// - Parameter closure: The closure, as the subject of a sentence.
    func error(_ failure: any Error, of closure: String) -> ImageError {
        if let failure = failure as? ImageError { return failure }
        let remedy = "Remove the cause. An ImageError with the code connectionFailed, thrown instead, is retried."
        return error(.invalidRequest, "\(closure) failed (\(failure))", remedy: remedy)
    }

    /// The error if a closure of the app does not answer.
    func unanswered(_ closure: String) -> ImageError {
        let remedy = "Let it answer sooner, or raise idleTimeout or totalTimeout of the request or the downloader."
        return error(.timedOut, "\(closure) has not answered in time", remedy: remedy)
    }

    /// The error if the server must not be asked for a while.
    func paused(until end: ContinuousClock.Instant, status: Int) -> ImageError {
        ImageError(
            .badStatus,
            url: request.key.url,
            reason: "The server has answered with status \(status) and wants to be asked later",
            remedy: "Load the image again after the time in retryAfter.",
            head: ResponseHead(url: request.message.url, status: status),
            retryAfter: end - .now
        )
    }

    func badRedirect(_ cause: String) -> ImageError {
        let remedy = "Correct the URL, or the server's redirect."
        return error(.badRedirect, "The server's redirect is not followed (\(cause))", remedy: remedy)
    }

    func badStatus(_ head: ResponseHead) -> ImageError {
        let remedy =
            switch head.status {
            case 401, 403: "Check the credentials that the server requires."
            case 407: "Check the credentials that the proxy requires."
            case 404, 410: "Correct the URL; the server does not have this file."
            case 429, 500...599: "Load the image again later; the server cannot answer now."
            default: "Check which requests the server accepts for this URL."
            }
        let origin =
            switch (head.status, request.redirectCount) {
            case (407, _): "The proxy"
            case (_, 0): "The server"
            // The last request may have gone to another host than the URL names.
            default: "The target of a redirect, \(request.message.url.textForMessages),"
            }
        let reason = "\(origin) answered with status \(head.status)"
        return error(.badStatus, reason, remedy: remedy, retryAfter: head.retryAfter)
    }
}
