import WebImageCore

/// The kinds of decode workers. Each kind has separate processes, which load their libraries and fonts before giving up rights.
package enum WorkerKind: Int32, Sendable, CaseIterable {
    /// The formats of the library's own decoders, which load nothing.
    case codecs
    /// The formats of gdk-pixbuf, whose modules are loaded.
    case modules
    /// SVG, which contains text, so font files may be read.
    case drawings

    /// Whether the worker reads files, which Landlock restricts to fonts.
    package var readsFonts: Bool { self == .drawings }

    /// Why these protections are not enough for a worker; `nil` if they are.
    func missing(in fence: DecodeAnswer.Fence) -> String? {
        guard readsFonts else {
            return fence.isDisjoint(with: [.systemCalls, .files])
                ? "This kernel has neither seccomp nor Landlock, so that a worker would have the rights of the app"
                : nil
        }
        if !fence.contains(.files) {
            return "This kernel has no Landlock, without which a worker that reads fonts reads other files as well"
        }
        return fence.contains(.systemCalls)
            ? nil : "This kernel has no seccomp, without which a worker that reads fonts has a network as well"
    }
}
