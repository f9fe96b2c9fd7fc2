import WebImageCore

/// The fields of a message between the app and its decode workers.
protocol MessageFields {
    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed)
}

extension MessageFields {
    /// The bytes of the message.
    var message: [UInt8] {
        var (fields, coder) = (self, MessageCoder())
        do {
            try fields.code(&coder)
        } catch {
            preconditionFailure("Only a message that is read can be malformed")
        }
        return Array(coder.bytes)
    }
}

extension MessageCoder {
    /// The bytes of a text that a message keeps.
    static let longestText = 1024

    /// A number of bytes, pixels or frames, which is never negative.
    mutating func code(count: inout Int) throws(Malformed) {
        try code(&count)
        try check(count >= 0)
    }

    mutating func code(_ value: inout Int?) throws(Malformed) {
        var number = value ?? -1
        try code(&number)
        value = number < 0 ? nil : number
    }

    mutating func code(_ format: inout ImageFormat) throws(Malformed) {
        var name = format.rawValue
        try code(&name, longest: Self.longestText)
        format = ImageFormat(rawValue: name)
    }

    /// The size of an image, with at most the largest side that an image may have (``DecodeOptions``).
    mutating func code(imageSize size: inout PixelSize) throws(Malformed) {
        try code(&size)
        try check(!size.isEmpty && max(size.width, size.height) <= 1 << 20)
    }
}
