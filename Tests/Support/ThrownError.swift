package import WebImageCore

/// The error that a call ends with; `nil` when it ends without one or with one of another type.
///
/// `#expect(throws:)` returns it only from Swift 6.1 on.
package func thrownError<R>(_ body: () throws -> R) -> ImageError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? ImageError
    }
}

/// The error that an asynchronous call ends with; `nil` when it ends without one or with one of another type.
package func thrownError<R: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> R
) async -> ImageError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? ImageError
    }
}
