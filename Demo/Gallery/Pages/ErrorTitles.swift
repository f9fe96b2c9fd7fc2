import GtkWebImage

extension ImageError {
    /// What users read, in their language. The reason and the remedy are for developers.
    @MainActor var title: String {
        switch code {
        case .offline: tr("This computer is offline.")
        case .hostNotFound: tr("There is no such server.")
        case .connectionFailed: tr("The server cannot be reached.")
        case .transferIncomplete: tr("The connection broke off.")
        case .tlsFailed: tr("There is no secure connection to the server.")
        case .timedOut, .decoderTimedOut: tr("It took too long.")
        case .badStatus where httpStatus == 404 || httpStatus == 410: tr("The server does not have this image.")
        case .badStatus where [401, 403].contains(httpStatus): tr("The server does not give this image to everyone.")
        case .badStatus where isTransient: tr("The server has a problem. Try again later.")
        case .badStatus, .badResponse, .badRedirect: tr("The server does not answer as expected.")
        case .badContentType: tr("The server did not send an image.")
        case .badImageData: tr("This is not an image, or it is damaged.")
        case .unsupportedFormat, .formatNotAllowed: tr("Images of this kind cannot be shown here.")
        case .imageTooLarge, .bodyTooLarge: tr("The image is too large.")
        case .invalidURL: tr("This is not the address of an image.")
        case .unreadable: tr("The file cannot be read.")
        default: tr("The image cannot be shown.")
        }
    }
}
