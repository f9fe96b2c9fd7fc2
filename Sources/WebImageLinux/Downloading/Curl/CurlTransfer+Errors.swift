import WebImageCore

extension CurlTransfer {
    func error(_ code: ImageError.Code, _ reason: String, remedy: String? = nil) -> ImageError {
        ImageError(
            code,
            url: url,
            reason: reason,
            remedy: remedy ?? "Check the network and the server, then load it again.",
            httpStatus: httpStatus
        )
    }

    var tooLarge: ImageError {
        error(
            .bodyTooLarge,
            "The body is larger than the limit of \(configuration.maximumByteCount) bytes",
            remedy: "Raise maximumByteCount in the downloader's configuration if such files are expected."
        )
    }

    func badRedirect(_ reason: String) -> ImageError {
        error(
            .badRedirect,
            "The server's redirect is not followed (\(reason))",
            remedy: "Redirects lead to http and https only, and not on and on; correct the server or the URL."
        )
    }

    func statusError(_ head: ResponseModifier.Response) -> ImageError {
        let remedy =
            switch head.status {
            case 401, 403, 407: "Check the credentials that the server wants."
            case 404, 410: "Check the URL; the server does not have it."
            case 429, 500...599: "Load it again later; the server cannot answer now."
            default: "Check what the server expects of a request for this URL."
            }
        return ImageError(
            .badStatus,
            url: url,
            reason: "The server answered with status \(head.status)",
            remedy: remedy,
            httpStatus: head.status,
            retryAfter: head.retryAfter
        )
    }
}
