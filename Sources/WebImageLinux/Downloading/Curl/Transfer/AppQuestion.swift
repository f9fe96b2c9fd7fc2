import FoundationEssentials
import WebImageCore

/// A question that the app must answer before a transfer continues. The transfer occupies no place in the meantime.
struct AppQuestion: Sendable {
    enum Answer: Sendable {
        /// The request that the request modifier returned; `nil` if it refuses the request.
        case request(RequestModifier.Request?, for: TransferRequest)
        /// The credential that a server or proxy has asked for.
        case credential(NetworkOptions.Credential)
        /// The app refuses the request, or has no credential.
        case refusal
        /// The closure of the app has thrown an error.
        case failure(any Error)
    }

    /// The closure of the app, as the subject of a sentence.
    let subject: String
    /// The error if the app refuses.
    let refusal: ImageError
    /// Whether a user may have to answer, which takes longer than a server.
    let waitsForUser: Bool
    private let closure: @Sendable () async throws -> Answer

    init(
        _ subject: String,
        refusal: ImageError,
        waitsForUser: Bool = false,
        _ closure: @escaping @Sendable () async throws -> Answer
    ) {
        self.subject = subject
        self.refusal = refusal
        self.waitsForUser = waitsForUser
        self.closure = closure
    }

    func ask() async -> Answer {
        do {
            return try await closure()
        } catch {
            return .failure(error)
        }
    }
}
