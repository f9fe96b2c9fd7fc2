import FoundationEssentials
import WebImageCore

/// What a transfer has to know from the app before it goes on. It has no place among the running transfers meanwhile.
struct AppQuestion: Sendable {
    enum Answer: Sendable {
        /// What the request modifier has made of a request; `nil` when it refuses it.
        case request(RequestModifier.Request?, for: TransferRequest)
        /// Where a redirect leads.
        case target(URL)
        /// What a server or proxy has asked for.
        case credential(NetworkOptions.Credential)
        /// The app wants the load to end, or has no credential.
        case refusal
        /// The closure of the app has thrown.
        case failure(any Error)
    }

    /// The closure of the app, as the subject of a sentence.
    let subject: String
    /// The error when the app refuses.
    let refusal: ImageError
    /// Whether a user may have to answer, who takes longer than a server.
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
