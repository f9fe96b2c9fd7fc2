internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

extension CurlTransfer {
    /// Makes an error with the URL of the transfer and the head of the last response.
    func error(_ code: ImageError.Code, _ reason: String, remedy: String? = nil) -> ImageError {
        ImageError(
            code,
            url: url,
            reason: reason,
            remedy: remedy ?? "Check the network and the server, then load the image again.",
            head: answeredHead
        )
    }

    /// The head of the last response, as far as it has arrived.
    private var answeredHead: ResponseHead? {
        if let head = exchange.head { return head }
        return exchange.handle.map(\.status) ?? 0 == 0 ? nil : exchange.readHead()
    }

    /// Makes the error for a result of libcurl.
    func error(_ code: CURLcode, message: String) -> ImageError {
        let cause = message.isEmpty ? String(cString: curl_easy_strerror(code)) : message
        switch code {
        case CURLE_URL_MALFORMAT:
            return error(.invalidURL, "The URL is malformed (\(cause))", remedy: "Correct the URL.")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return error(
                .hostNotFound,
                "The host name cannot be resolved (\(cause))",
                remedy: "Check the host name, and whether this machine is online."
            )
        case CURLE_OPERATION_TIMEDOUT:
            // libcurl may still have the text of an earlier failure, such as of another address.
            return tooSlow
        case CURLE_FILESIZE_EXCEEDED:
            return bodyTooLarge
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            return error(
                .tlsFailed,
                "A secure connection cannot be established (\(cause))",
                remedy: "Check the server's certificate, this machine's clock, and the package ca-certificates."
            )
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return error(
                .tlsFailed,
                "The key of the server's certificate is none of those that are pinned for the host (\(cause))",
                remedy: malformedPins.isEmpty
                    ? "Add it to pinnedPublicKeys in the downloader's configuration if it is the server's new key."
                    : """
                    Correct \(malformedPins.joined(separator: ", ")) in pinnedPublicKeys of the downloader's configuration, which no \
                    key has: a key is the Base64 text of a SHA-256 hash.
                    """
            )
        case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2_STREAM, CURLE_HTTP2:
            return error(.transferIncomplete, "The connection was closed before the end of the body (\(cause))")
        // libcurl has no memory for a header line of more than 100 KB; later versions have a code for that.
        case CURLE_OUT_OF_MEMORY where exchange.head == nil, tooLargeForCurl where exchange.head == nil:
            return headTooLarge
        // libcurl reports a reply that is not HTTP as an unsupported protocol.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
            return error(.badResponse, "The server's response is not valid HTTP (\(cause))")
        default:
            return error(.connectionFailed, "The connection failed (\(cause))")
        }
    }

    /// The keys pinned for the host that are no hashes of keys.
    private var malformedPins: [String] {
        configuration.pinnedKeys(for: exchange.request.url).filter { PinnedKeys.problem(of: $0) != nil }
            .map { "\"\($0.prefix(100))\"" }.sorted()
    }

    /// The error of a resumed body whose rest is longer than its range.
    var longerThanRange: ImageError {
        error(.transferIncomplete, "The server sent more of the body than the range that it stated")
    }

    /// The error for a head without an end, which libcurl takes for a response without a body.
    var headIncomplete: ImageError {
        error(.transferIncomplete, "The connection was closed before the end of the head")
    }

    var headTooLarge: ImageError {
        error(
            .badResponse,
            "The head of the server's response is too large",
            remedy: "Let the server send at most 500 header fields and 256 KiB of them, and less than 100 KB in a line."
        )
    }

    /// CURLE_TOO_LARGE of libcurl 8.6.
    private var tooLargeForCurl: CURLcode { CURLcode(rawValue: 100) }

    var bodyTooLarge: ImageError {
        error(
            .bodyTooLarge,
            "The body is larger than the limit of \(Magnitude.bytes(configuration.maximumByteCount))",
            remedy: "Raise maximumByteCount in the downloader's configuration if you expect such files."
        )
    }

    /// The error for a body that ends before its coding does, which a server cuts off without a sign in HTTP.
    var codingIncomplete: ImageError {
        error(.transferIncomplete, "The compressed body ends too early: it is truncated")
    }

    var badCoding: ImageError {
        error(.badResponse, "The server's response is not compressed as it says")
    }

    var denseCoding: ImageError {
        error(
            .bodyTooLarge,
            "The compressed body is much larger than what the server has sent",
            remedy: "Let the server send it without Content-Encoding if you expect such files."
        )
    }

    func unknownCoding(_ coding: String) -> ImageError {
        error(
            .badResponse,
            "The server compressed the body with \(coding.prefix(100)), which the request did not ask for",
            remedy: "Let the server compress it once and keep to Accept-Encoding, or set that field in the request."
        )
    }

    var refusedRequest: ImageError {
        error(
            .invalidRequest,
            "The request modifier refused the request",
            remedy: "Return a request from the modifier if this URL may be loaded."
        )
    }

    func refusedRedirect(to target: URL) -> ImageError {
        error(
            .badRedirect,
            "The redirect handler does not follow the server's redirect to \(target.textForMessages)",
            remedy: "Return a URL from redirectHandler in the downloader's configuration if it may be followed."
        )
    }

    /// The error for one that a closure of the app has thrown.
    func error(_ failure: any Error, of question: AppQuestion) -> ImageError {
        if let failure = failure as? ImageError { return failure }
        return error(
            .invalidRequest,
            "\(question.subject) failed (\(failure))",
            remedy: "Remove the cause. An ImageError with the code connectionFailed, thrown instead, is retried."
        )
    }

    /// The error when the app does not answer.
    func unanswered(_ question: AppQuestion) -> ImageError {
        // After a time-out the load would be retried, and the user asked again.
        if question.waitsForUser { return question.refusal }
        return error(
            .timedOut,
            "\(question.subject) has not answered in time",
            remedy: "Let it answer sooner, or raise idleTimeout or totalTimeout of the request or the downloader."
        )
    }

    func badRedirect(_ cause: String) -> ImageError {
        error(
            .badRedirect,
            "The server's redirect is not followed (\(cause))",
            remedy: "Correct the URL, or the server's redirect."
        )
    }

    var insecureRedirect: ImageError {
        badRedirect("it leads from https to http; allowsInsecureRedirects permits that")
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
            switch (head.status, redirectCount) {
            case (407, _): "The proxy"
            case (_, 0): "The server"
            // It may be another host than that of the URL.
            default: "The target of a redirect, \(exchange.request.url.textForMessages),"
            }
        return ImageError(
            .badStatus,
            url: url,
            reason: "\(origin) answered with status \(head.status)",
            remedy: remedy,
            head: head,
            retryAfter: head.retryAfter
        )
    }
}
