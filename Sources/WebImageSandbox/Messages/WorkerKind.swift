import WebImageCore

/// What a decode worker decodes. Each kind has separate processes, which load their libraries and fonts before they give up their rights.
package enum WorkerKind: Int32, Sendable, CaseIterable {
    /// The formats of the library's own decoders, which load nothing.
    case codecs
    /// The formats of gdk-pixbuf, whose modules are loaded.
    case modules
    /// SVG, which contains text: the files of fonts may be read.
    case drawings

    /// Whether there are files that the worker reads, of which Landlock says which.
    package var readsFonts: Bool { self == .drawings }

    /// Why a worker with these protections is none; `nil` when it is one.
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
