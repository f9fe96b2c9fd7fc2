/// How an image is made to fit another size.
public enum ResizeMode: String, Sendable {
    /// All of it, as large as fits inside, its shape kept. Of the other size, one side may be shorter.
    case contain
    /// Exactly that size, its shape kept; what is too much on two sides is cut off evenly.
    case cover
    /// Exactly that size, whatever that does to its shape.
    case stretch
    /// All of it in the middle of exactly that size, with nothing around it.
    case letterbox
}
