internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// HTTP/3, where libcurl has it and servers offer it.
extension CurlTransfer {
    /// The origin of the exchange; `nil` without TLS.
    var origin: AlternativeServices.Origin? { AlternativeServices.Origin(exchange.request.url) }

    /// Whether the exchange may go to an endpoint of HTTP/3. One to a host whose keys are pinned goes over TCP, for which all
    /// versions of libcurl compare keys.
    ///
    /// When the endpoint fails, the request may have been sent already, and may be repeated over TCP only if that changes
    /// nothing (RFC 9110, 9.2.2).
    var mayUseAlternative: Bool {
        guard exchange.request.method == "GET", exchange.request.body == nil, !key.options.allowsInvalidCertificates,
            configuration.pinnedPublicKeys(for: exchange.request.url) == nil
        else {
            return false
        }
        // Proxies carry TCP only.
        switch exchange.proxy {
        case .proxy, .fixed: return false
        case .environment: return !ProxyResolver.isSetForTLSByEnvironment
        case .direct: return true
        }
    }
}

extension AlternativeServices.Answer {
    /// Interprets how libcurl has ended an exchange with an endpoint.
    /// - Parameters:
    ///   - isConnected: Whether there was a connection to the endpoint.
    ///   - hasTimeLeft: Whether the time limit of the whole transfer is not reached.
    init(_ code: CURLcode, isConnected: Bool, hasTimeLeft: Bool) {
        switch code {
        // The last two mean that the library wants no more of the body.
        case CURLE_OK, CURLE_WRITE_ERROR, CURLE_FILESIZE_EXCEEDED: self = .answered
        // A connection that is used again says so when the server has closed its port.
        case CURLE_COULDNT_CONNECT: self = .unreachable
        case CURLE_OPERATION_TIMEDOUT where isConnected || !hasTimeLeft: self = .timedOut
        default: self = isConnected ? .failed : .unreachable
        }
    }
}

extension CurlHandle {
    /// Whether the last transfer had a connection, with its handshake complete.
    ///
    /// A request is sent only then. The times are no sign: that of the handshake is 0 on a connection that is used again, and
    /// libcurl 8.22 notes the others also at the end of a transfer that found no connection.
    var isConnected: Bool { long(CURLINFO_REQUEST_SIZE) > 0 }
}
