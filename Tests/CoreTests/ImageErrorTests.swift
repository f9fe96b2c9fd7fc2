import Foundation
import Testing
import WebImageCore

/// What an error says to those who print it.
struct ImageErrorTests {
    private let error = ImageError(
        .badStatus,
        url: URL(string: "https://user:secret@example.org/a.png?token=secret"),
        reason: "The server answered 404",
        remedy: "Check the URL.",
        head: ResponseHead(url: URL(filePath: "/"), status: 404)
    )

    @Test("The localized description is the cause, and the remedy is the recovery suggestion")
    func localized() {
        let error: any Error = error
        #expect(error.localizedDescription == "The server answered 404.")
        #expect((error as? any LocalizedError)?.recoverySuggestion == "Check the URL.")
    }

    @Test("The description has the name of the code, and no secret of the URL")
    func described() {
        let text = "\(error)"
        #expect(
            text.hasPrefix("The server answered 404 <https://") && text.hasSuffix("(badStatus 2001). Check the URL.")
        )
        #expect(text.contains("example.org/a.png") && !text.contains("secret"))
    }

    @Test("Every code prints its name and its number, and one of a later release its number")
    func codes() throws {
        // Given the codes that the source declares
        let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/WebImageCore/ImageError.swift")
        let declarations = try String(contentsOf: source, encoding: .utf8).matches(
            of: /static let (\w+) = Code\(rawValue: (\d+)\)/
        )
        #expect(declarations.count > 20)
        // Then each has its name
        for declaration in declarations {
            let number = try #require(Int(declaration.2))
            #expect("\(ImageError.Code(rawValue: number))" == "\(declaration.1) \(number)")
        }
        #expect("\(ImageError.Code(rawValue: 9999))" == "9999")
    }
}
