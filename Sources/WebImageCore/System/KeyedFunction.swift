/// A closure that is compared by a key, since closures themselves cannot be compared.
package struct KeyedFunction<Input, Output>: Hashable, Sendable {
    package let key: String
    private let body: @Sendable (Input) -> Output

    package init(key: String, _ body: @escaping @Sendable (Input) -> Output) {
        self.key = key
        self.body = body
    }

    package func callAsFunction(_ input: Input) -> Output { body(input) }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.key == rhs.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
