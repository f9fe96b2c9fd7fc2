extension ImageError {
    /// Whether the load was cancelled rather than failed.
    public var isCancelled: Bool { code == .cancelled }

    /// Whether the same load may succeed later: no connection, a broken one, a timeout, or an HTTP status that says so
    /// (408, 429, and 500 to 599 without 501 and 505).
    public var isTransient: Bool {
        switch code {
        case .connectionFailed, .hostNotFound, .timedOut, .transferIncomplete, .offline: true
        case .badStatus: httpStatus.map { Self.transientStatuses.contains($0) } ?? false
        default: false
        }
    }

    /// Whether the load would fail again: there is no image at the URL, or none that this machine decodes.
    package var isPermanent: Bool {
        switch code {
        case .badImageData, .unsupportedFormat, .imageTooLarge, .bodyTooLarge, .badContentType: true
        case .badStatus: httpStatus == 404 || httpStatus == 410
        default: false
        }
    }

    /// Whether the cause may be the network connection rather than the image.
    package var isConnectivity: Bool {
        switch code {
        case .offline, .hostNotFound, .connectionFailed: true
        default: false
        }
    }

    private static let transientStatuses: Set<Int> = Set(500...599).subtracting([501, 505]).union([408, 429])
}
