import Glibc
import WebImageCore

// The errors of files that no worker decodes.

extension DecodeWorker.Failure {
    /// The error of a load that gives up after the failure.
    func error(_ options: DecodeOptions) -> ImageError {
        let how: String
        switch self {
        case .cancelled: return .cancelled(options.url)
        case .notSent(let number): return options.notSent(number)
        case .notStarted, .doubtful, .timedOut(hadTime: false): return options.lostWorkers
        case .timedOut:
            let error = ImageError(
                .decoderTimedOut,
                url: options.url,
                reason: "The decoder has not decoded the image in time, and was ended",
                remedy: "Check the file: it may have been made to keep decoders busy."
            )
            WebImageLog.notice("\(error)")
            return error
        case .ended(let signal): how = signal == 0 ? "by itself" : "by signal \(signal)"
        case .malformed: how = "after an answer that makes no sense"
        }
        let error = ImageError(
            .decoderCrashed,
            url: options.url,
            reason: "The decoder ended \(how) while it decoded the image, in a separate process",
            remedy: "Check the file: it may have been made to break decoders. Other images are not concerned."
        )
        WebImageLog.notice("\(error)")
        return error
    }
}

extension DecodeOptions {
    /// The error of a file for which no worker can be started.
    func noWorker(_ reason: String?) -> ImageError {
        ImageError(
            .decoderUnavailable,
            url: url,
            reason: "No decode worker can be started: \(reason ?? DecodeSandbox.obstacle ?? "the reason is not known")",
            remedy: """
                Let the app start its own program again (see Packaging), or set decoding of the manager's configuration to \
                .inProcess, if you trust the files.
                """
        )
    }

    /// The error of an image or a frame for which several workers were lost or got no processor time.
    var lostWorkers: ImageError {
        ImageError(
            .decoderUnavailable,
            url: url,
            reason: "Several decode workers were killed, or kept from working, before they were done with the image",
            remedy: "Find out what ends or stops them, such as a shortage of memory. A later load may succeed."
        )
        .dependingOnRequest()
    }

    /// - Parameter number: The error number of a system call.
    fileprivate func notSent(_ number: Int32) -> ImageError {
        let (code, remedy): (ImageError.Code, String) =
            switch number {
            case EMFILE, ENFILE:
                (.decoderUnavailable, "Raise the limit for open files, or show fewer large images at a time.")
            case EFBIG: (.decoderUnavailable, "Raise the limit for the size of files, or set decoding to .inProcess.")
            default: (.imageTooLarge, "Decode fewer or smaller images at a time.")
            }
        return ImageError(
            code,
            url: url,
            reason: "A worker cannot get the file or give its pixels (\(String(cString: strerror(number))))",
            remedy: remedy
        )
        .dependingOnRequest()
    }
}
