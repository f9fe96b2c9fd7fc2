import FoundationEssentials

// The fields of entries of the disk cache.
extension MessageCoder {
    /// Whether a field is there, before the field. A reader at the end of the bytes finds none, so a later version can add optional
    /// fields to the end of a message, and earlier versions ignore them.
    /// - Parameter empty: What a field is read into.
    mutating func code<Value>(presenceOf value: inout Value?, or empty: @autoclosure () -> Value) throws(Malformed) {
        var isThere = value != nil
        if isReading, bytes.isEmpty { isThere = false } else { try code(&isThere) }
        if isReading { value = isThere ? empty() : nil }
    }

    mutating func code(_ text: inout String?) throws(Malformed) {
        try code(presenceOf: &text, or: "")
        if text != nil { try code(&text!) }
    }

    mutating func code(_ data: inout Data?) throws(Malformed) {
        try code(presenceOf: &data, or: Data())
        if let content = data, let read = try code(content) { data = Data(read) }
    }

    /// A number, which counts as missing if it is not finite.
    mutating func code(_ value: inout Double?) throws(Malformed) {
        try code(presenceOf: &value, or: 0)
        if value != nil { try code(&value!) }
        if value?.isFinite == false { value = nil }
    }

    mutating func code(_ date: inout Date?) throws(Malformed) {
        var seconds = date?.timeIntervalSinceReferenceDate
        try code(&seconds)
        date = seconds.map(Date.init(timeIntervalSinceReferenceDate:))
    }

    mutating func code(_ fields: inout [String: String]?) throws(Malformed) {
        try code(presenceOf: &fields, or: [:])
        guard let written = fields else { return }
        var count = UInt32(written.count)
        try code(&count)
        var pairs = written.makeIterator()
        for _ in 0..<count {
            var (name, value) = pairs.next() ?? ("", "")
            try code(&name)
            try code(&value)
            if isReading { fields?[name] = value }
        }
    }
}
