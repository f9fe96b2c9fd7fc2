internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// One transfer, for all who ask for its URL. Lives on the network thread.
final class CurlTransfer {
    let url: URL
    private let configuration: CurlConfiguration
    private(set) var operations: [CurlOperation] = []
    var priority = ImagePriority.normal
    /// In the queue of those that wait.
    var number: UInt64?

    private var easy: UnsafeMutableRawPointer?
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private let message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var body = Data()
    private var headers = ResponseHeaders()
    /// Why the transfer was stopped from within.
    private var failure: ImageError?
    /// Bytes of an error page that were read and thrown away, to keep the connection.
    private var discarded = 0

    private static let discardLimit = 64 << 10
    private static let reserveLimit = 8 << 20

    init(_ url: URL, _ configuration: CurlConfiguration) {
        self.url = url
        self.configuration = configuration
        message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_slist_free_all(headerList)
        message.deallocate()
    }

    func join(_ operation: CurlOperation) {
        operations.append(operation)
        if operation.wantsData { replay(to: operation) }
    }

    func leave(_ operation: CurlOperation) {
        operations.removeAll { $0 === operation }
    }

    /// Hands over what has come so far to one who asked late.
    func replay(to operation: CurlOperation) {
        if !body.isEmpty { operation.send(.data(body)) }
    }

    func takeHandle() -> UnsafeMutableRawPointer? {
        easy.take()
    }

    func configure(_ easy: UnsafeMutableRawPointer) {
        self.easy = easy
        let context = Unmanaged.passUnretained(self).toOpaque()
        gwi_curl_set_string(easy, CURLOPT_URL, url.absoluteString)
        gwi_curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
        gwi_curl_set_data_function(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            return transfer.receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        gwi_curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
        gwi_curl_set_data_function(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            transfer.headers.add(line: String(decoding: line, as: UTF8.self))
            return size * count
        }
        gwi_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, message)
        gwi_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        gwi_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        gwi_curl_set_string(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        gwi_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 1)
        gwi_curl_set_long(easy, CURLOPT_MAXREDIRS, configuration.maximumRedirects)
        gwi_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // A second request to a host waits to learn whether it can share the connection of the first. Over TLS the
        // handshake tells; without, only the first response would, and HTTP/2 is not to be had anyway.
        gwi_curl_set_long(easy, CURLOPT_PIPEWAIT, url.scheme?.lowercased() == "https" ? 1 : 0)
        gwi_curl_set_string(easy, CURLOPT_ACCEPT_ENCODING, "")
        gwi_curl_set_string(easy, CURLOPT_USERAGENT, configuration.userAgent)
        gwi_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.milliseconds)
        gwi_curl_set_long(easy, CURLOPT_LOW_SPEED_LIMIT, 1)
        gwi_curl_set_long(easy, CURLOPT_LOW_SPEED_TIME, max(1, configuration.idleTimeout.milliseconds / 1000))
        gwi_curl_set_long(easy, CURLOPT_TIMEOUT_MS, configuration.totalTimeout?.milliseconds ?? 0)
        gwi_curl_set_offset(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(configuration.maximumByteCount))
        if let file = configuration.certificateAuthorityFile { gwi_curl_set_string(easy, CURLOPT_CAINFO, file) }
        for (name, value) in configuration.headers {
            headerList = curl_slist_append(headerList, "\(name): \(value)")
        }
        gwi_curl_set_list(easy, CURLOPT_HTTPHEADER, headerList)
    }

    /// What libcurl says at the end, in the terms of the library.
    func result(_ code: CURLcode) -> Result<LoadedData, ImageError> {
        if let failure { return .failure(failure) }
        guard code == CURLE_OK else {
            return .failure(CurlFailure.error(code, message: String(cString: message), self))
        }
        guard (200...299).contains(headers.status) else { return .failure(statusError) }
        let loaded = LoadedData(
            data: body,
            contentType: headers["content-type"],
            etag: headers["etag"],
            lastModified: headers["last-modified"],
            cacheControl: headers["cache-control"]
        )
        return .success(loaded)
    }

    func error(_ code: ImageError.Code, _ reason: String, remedy: String? = nil) -> ImageError {
        ImageError(
            code,
            url: url,
            reason: reason,
            remedy: remedy ?? "Check the network and the server, then load it again.",
            httpStatus: headers.status == 0 ? nil : headers.status
        )
    }

    /// Whether the last response was a redirect.
    var isRedirected: Bool { (300...399).contains(headers.status) }

    var tooLarge: ImageError {
        error(
            .bodyTooLarge,
            "The body is larger than the limit of \(configuration.maximumByteCount) bytes",
            remedy: "Raise maximumByteCount in the loader's configuration if such files are expected."
        )
    }

    private var statusError: ImageError {
        let status = headers.status
        let remedy =
            switch status {
            case 401, 403, 407: "Check the credentials that the server wants."
            case 404, 410: "Check the URL; the server does not have it."
            case 429, 500...599: "Load it again later; the server cannot answer now."
            default: "Check what the server expects of a request for this URL."
            }
        return error(.badStatus, "The server answered with status \(status)", remedy: remedy)
    }

    /// - Returns: The number of bytes taken; any other ends the transfer.
    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard (200...299).contains(headers.status) else {
            discarded += bytes.count
            guard discarded <= Self.discardLimit else {
                failure = statusError
                return 0
            }
            return bytes.count
        }
        guard body.count + bytes.count <= configuration.maximumByteCount else {
            failure = tooLarge
            return 0
        }
        let expected = headers.bodyLength
        if body.isEmpty, let expected { body.reserveCapacity(min(Int(expected), Self.reserveLimit)) }
        body.append(contentsOf: bytes)
        let progress = LoadEvent.progress(received: Int64(body.count), expected: expected)
        var chunk: Data?
        for operation in operations {
            operation.send(progress)
            guard operation.wantsData else { continue }
            let data = chunk ?? Data(bytes)
            chunk = data
            operation.send(.data(data))
        }
        return bytes.count
    }
}

extension Duration {
    fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
