public import WebImageCore

// The actions of a user: looking, clicking, scrolling and typing. The program under test may be this process or another. GTK
// handles input in later turns of its main loop, so wait for the effect. Positions are in screen pixels.
extension XvfbDisplay {
    /// A key, identified by the symbol that it types.
    public struct Key: Sendable {
        /// The X11 keysym.
        let symbol: UInt32

        /// The Tab key, which moves the focus.
        public static let tab = Key(symbol: 0xFF09)
        /// The Return key, which activates the focused widget.
        public static let enter = Key(symbol: 0xFF0D)
        /// The Escape key.
        public static let escape = Key(symbol: 0xFF1B)
        /// The Left arrow key.
        public static let left = Key(symbol: 0xFF51)
        /// The Up arrow key.
        public static let up = Key(symbol: 0xFF52)
        /// The Right arrow key.
        public static let right = Key(symbol: 0xFF53)
        /// The Down arrow key.
        public static let down = Key(symbol: 0xFF54)
        /// The Page Up key.
        public static let pageUp = Key(symbol: 0xFF55)
        /// The Page Down key.
        public static let pageDown = Key(symbol: 0xFF56)

        /// The key of a character on the American keyboard layout.
        public static func character(_ character: Character) -> Key {
            // The keysyms of Latin-1 equal its character codes.
            Key(symbol: character.unicodeScalars.first?.value ?? 0)
        }
    }

    /// An image of the whole screen. Save it with `WebImage.data(as: .png)`.
    /// - Throws: An error with its cause if the X server has ended.
    public func screenshot() throws -> WebImage {
        let connection = try XConnection(display: name)
        let source = try connection.screenPixels()
        let size = PixelSize(width: connection.width, height: connection.height)
        let pixels = PixelBuffer(size: size, format: .rgb) { target in
            for row in 0..<size.height {
                for column in 0..<size.width {
                    let from = (row * size.width + column) * 4
                    let to = row * (target.count / size.height) + column * 3
                    (target[to], target[to + 1], target[to + 2]) = (source[from + 2], source[from + 1], source[from])
                }
            }
        }
        guard let pixels else { throw Failure(description: "There is no memory for a screenshot of \(size) pixels") }
        return WebImage(pixels: pixels)
    }

    /// Clicks with the left button.
    /// - Throws: An error with its cause if the X server has ended.
    public func click(x: Int, y: Int) throws {
        try press(button: 1, count: 1, x, y)
    }

    /// Turns the mouse wheel.
    /// - Parameters:
    ///   - x: The column of the pointer.
    ///   - y: The row of the pointer.
    ///   - steps: The number of notches: positive downwards, negative upwards.
    /// - Throws: An error with its cause if the X server has ended.
    public func scroll(x: Int, y: Int, steps: Int) throws {
        try press(button: steps > 0 ? 5 : 4, count: abs(steps), x, y)
    }

    /// Presses and releases a key. The focused window receives it.
    /// - Throws: An error with its cause if the keyboard has no such key, or the X server has ended.
    public func press(_ key: Key) throws {
        let connection = try XConnection(display: name)
        guard let found = try connection.key(for: key.symbol) else {
            throw Failure(description: "The keyboard has no key for the symbol \(key.symbol)")
        }
        let shift = found.needsShift ? try connection.key(for: 0xFFE1) : nil
        var events: [(kind: XConnection.Input, detail: UInt8, x: Int, y: Int)] = []
        if let shift { events.append((.keyPress, shift.code, 0, 0)) }
        events.append((.keyPress, found.code, 0, 0))
        events.append((.keyRelease, found.code, 0, 0))
        if let shift { events.append((.keyRelease, shift.code, 0, 0)) }
        try connection.make(events)
    }

    private func press(button: UInt8, count: Int, _ x: Int, _ y: Int) throws {
        var events: [(kind: XConnection.Input, detail: UInt8, x: Int, y: Int)] = [(.motion, 0, x, y)]
        for _ in 0..<count { events += [(.buttonPress, button, 0, 0), (.buttonRelease, button, 0, 0)] }
        try XConnection(display: name).make(events)
    }
}
