import Testing
import WebImageCore

@Suite("Challenges in header fields")
struct ChallengeFieldTests {
    private func parsed(_ field: String) -> [String] {
        ChallengeField.challenges(in: field).map { "\($0.scheme) \($0.realm ?? "-")" }
    }

    @Test(
        "A field has challenges, each with its realm",
        arguments: [
            ("Basic realm=\"images\"", ["basic images"]),
            ("BASIC Realm=images", ["basic images"]),
            ("Basic", ["basic -"]),
            ("Basic charset=\"UTF-8\", realm=\"a b\"", ["basic a b"]),
            (
                "Digest realm=\"x, y\", nonce=\"abc==\", qop=\"auth,auth-int\", Basic realm=z",
                ["digest x, y", "basic z"]
            ),
            ("Negotiate, Basic realm = \"x\"", ["negotiate -", "basic x"]),
            ("Negotiate YII==, Basic realm=\"x\"", ["negotiate -", "basic x"]),
            ("Basic realm=\"a\\\"b\\\\c\"", ["basic a\"b\\c"]),
            ("Basic realm=\"first\", realm=\"second\"", ["basic first"]),
            (
                "New realm=\"apps\", type=1, title=\"to \\\"apps\\\"\", Basic realm=\"simple\"",
                ["new apps", "basic simple"]
            ),
        ]
    )
    func fields(field: String, expected: [String]) {
        #expect(parsed(field) == expected)
    }

    @Test(
        "A field that is malformed has no challenge that it does not name",
        arguments: [
            ("", []), (",,, ,", []), ("=", []), ("realm=\"x\"", []), ("\"Basic\" realm=x", ["\"basic\" x"]),
            ("Basic realm=\"never ends, Digest realm=\"x\"", ["basic never ends, Digest realm="]),
            ("Basic realm=\"ends\\", ["basic ends"]), ("Basic realm=", ["basic "]),
            ("\t ,Basic\t realm=x \t", ["basic x"]),
        ]
    )
    func malformed(field: String, expected: [String]) {
        #expect(parsed(field) == expected)
    }

    @Test("A long field takes linear time")
    func long() {
        let field = String(repeating: "Basic realm=\"x\", ", count: 10_000) + String(repeating: "\"", count: 50_000)
        #expect(ChallengeField.challenges(in: field).count >= 10_000)
    }
}
