/// A challenge of a WWW-Authenticate or Proxy-Authenticate field (RFC 9110, 11.6.1).
package struct ChallengeField: Equatable, Sendable {
    /// The scheme in lower case.
    package let scheme: String
    /// The realm without quotation marks; `nil` when there is none.
    package private(set) var realm: String?

    /// Reads a field, in which commas separate challenges as well as the parameters of one.
    package static func challenges(in field: String) -> [ChallengeField] {
        var challenges: [ChallengeField] = []
        for item in split(field) {
            let start = item.prefix { $0 != "=" && $0 != " " && $0 != "\t" }
            let rest = item[start.endIndex...].drop { $0 == " " || $0 == "\t" }
            if rest.first == "=" {
                // A parameter belongs to the challenge before it.
                guard !challenges.isEmpty else { continue }
                challenges[challenges.count - 1].add(start, rest.dropFirst())
            } else if !start.isEmpty {
                var challenge = ChallengeField(scheme: start.lowercased())
                let name = rest.prefix { $0 != "=" && $0 != " " && $0 != "\t" }
                let value = rest[name.endIndex...].drop { $0 == " " || $0 == "\t" }
                if value.first == "=" { challenge.add(name, value.dropFirst()) }
                challenges.append(challenge)
            }
        }
        return challenges
    }

    private init(scheme: String) {
        self.scheme = scheme
    }

    /// Takes note of a parameter. The first of several with the same name counts.
    private mutating func add(_ name: Substring, _ value: Substring) {
        guard realm == nil, name.lowercased() == "realm" else { return }
        realm = Self.unquoted(value.drop { $0 == " " || $0 == "\t" })
    }

    /// Splits at the commas outside of quoted strings, and removes the blanks around the items.
    private static func split(_ field: String) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        let items = field.split { character in
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            }
            return character == "," && !isQuoted
        }
        return items.map { $0.drop { $0 == " " || $0 == "\t" } }
    }

    /// The text of a token or of a quoted string, in which a backslash stands before a character (RFC 9110, 5.6.4).
    private static func unquoted(_ text: Substring) -> String {
        guard text.first == "\"" else { return String(text.prefix { $0 != " " && $0 != "\t" }) }
        var (result, isEscaped) = ("", false)
        for character in text.dropFirst() {
            if isEscaped {
                result.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            } else {
                result.append(character)
            }
        }
        return result
    }
}
