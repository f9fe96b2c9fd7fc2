import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

/// What a load of the page Try a URL asks for, as a load and as the Swift that an app writes for it.
@MainActor
struct Playground {
    /// A value and the Swift that makes it. A test compares the two.
    struct Choice<Value> {
        let title: String
        let code: String
        let value: Value

        init(_ title: String, _ code: String, value: Value) {
            (self.title, self.code, self.value) = (title, code, value)
        }
    }

    // The first choice of each is the default, for which an app writes nothing.
    static let placeholders: [Choice<ImagePlaceholder?>] = [
        Choice(tr("None"), "nil", value: nil),
        Choice(tr("Icon"), #".icon("image-x-generic", size: 64)"#, value: .icon("image-x-generic", size: 64)),
        Choice(tr("Colour"), ".color(ImageColor(0xB3988A))", value: .color(ImageColor(0xB3988A))),
        Choice(tr("BlurHash"), #".blurHash("AQI;0M[V.m9[")"#, value: .blurHash("AQI;0M[V.m9[")),
    ]
    static let transformers: [Choice<ImageTransformer?>] = [
        Choice(tr("None"), "nil", value: nil),
        Choice(tr("Rounded"), ".rounded(48)", value: .rounded(48)),
        Choice(tr("Circle"), ".circle()", value: .circle()),
        Choice(tr("Blurred"), ".blur(8)", value: .blur(8)),
        Choice(tr("Greyscale"), ".grayscale", value: .grayscale),
        Choice(tr("Blurred, then sepia"), ".blur(8) + .sepia", value: .blur(8) + .sepia),
    ]
    static let transitions: [Choice<ImageTransition?>] = [
        Choice(tr("None"), "nil", value: nil),
        Choice(tr("Cross-fade"), ".crossfade(duration: .seconds(1))", value: .crossfade(duration: .seconds(1))),
        Choice(tr("Slide"), ".slide(duration: .seconds(1))", value: .slide(duration: .seconds(1))),
        Choice(tr("Flip"), ".flip(duration: .seconds(1))", value: .flip(duration: .seconds(1))),
        Choice(tr("Zoom"), ".zoom(duration: .seconds(1))", value: .zoom(duration: .seconds(1))),
    ]
    static let sizes: [Choice<DecodeSize?>] = [
        Choice(tr("As shown"), "nil", value: nil),
        Choice(tr("As in the file"), ".original", value: .original),
        Choice(tr("10,000 bytes"), ".within(byteCount: 10_000)", value: .within(byteCount: 10_000)),
    ]
    static let priorities: [Choice<ImagePriority>] = [
        Choice(tr("Normal"), ".normal", value: .normal),
        Choice(tr("High"), ".high", value: .high),
        Choice(tr("Low"), ".low", value: .low),
    ]

    /// What can be chosen: its name, the titles of its choices, and the place of their number.
    static let settings: [(name: String, titles: [String], number: WritableKeyPath<Playground, Int>)] = [
        (tr("Placeholder"), placeholders.map(\.title), \.placeholder),
        (tr("Transformer"), transformers.map(\.title), \.transformer),
        (tr("Transition"), transitions.map(\.title), \.transition),
        (tr("Size"), sizes.map(\.title), \.size),
        (tr("Priority"), priorities.map(\.title), \.priority),
    ]

    var placeholder = 0
    var transformer = 0
    var transition = 0
    var size = 0
    var priority = 0

    /// Loads an image as the code says.
    func load(
        _ url: URL,
        into picture: Picture,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) {
        picture.imageTransition = Self.transitions[transition].value
        let request = makeRequest(for: url)
        picture.setImage(with: request, placeholder: Self.placeholders[placeholder].value, completion: completion)
    }

    func makeRequest(for url: URL) -> ImageRequest {
        ImageRequest(
            url: url,
            priority: Self.priorities[priority].value,
            decodeSize: Self.sizes[size].value,
            transformer: Self.transformers[transformer].value
        )
    }

    /// The Swift of the load.
    /// - Parameter length: How many characters of the URL it has at most. Default: all.
    func code(for url: URL, length: Int = .max) -> String {
        let address = url.absoluteString
        let shown = address.utf8.count > length ? "\(address.prefix(length))…" : address
        let effect = transition == 0 ? "" : "picture.imageTransition = \(Self.transitions[transition].code)\n"
        let arguments = [
            "url: url", priority == 0 ? nil : "priority: \(Self.priorities[priority].code)",
            size == 0 ? nil : "decodeSize: \(Self.sizes[size].code)",
            transformer == 0 ? nil : "transformer: \(Self.transformers[transformer].code)",
        ]
        .compactMap(\.self)
        let request = arguments.count == 1 ? "url" : "ImageRequest(\(arguments.joined(separator: ", ")))"
        let place = placeholder == 0 ? "" : ", placeholder: \(Self.placeholders[placeholder].code)"
        return """
            let url = URL(string: \(String(reflecting: shown)))!
            \(effect)picture.setImage(with: \(request)\(place)) { result in
                if case .failure(let error) = result {
                    print(error)
                }
            }
            """
    }

    /// A whole program with the code, for the package Demo/Examples/FirstApp.
    func program(for url: URL) -> String {
        """
        import CGtk4
        import Foundation
        import GtkWebImage
        import GtkWebImageWidgets

        let app = gtk_application_new("org.example.FirstApp", GApplicationFlags(rawValue: 0))!

        @MainActor
        func showWindow() {
            let window = UnsafeMutableRawPointer(gtk_application_window_new(app)!).assumingMemoryBound(to: GtkWindow.self)
            gtk_window_set_default_size(window, 800, 600)
            let picture = Picture()
            gtk_window_set_child(window, picture.native())
            \(code(for: url).replacing("\n", with: "\n    "))
            gtk_window_present(window)
        }

        // GTK calls back on the main thread, which a C callback has to tell Swift.
        let activate: @convention(c) (gpointer?, gpointer?) -> Void = { _, _ in MainActor.assumeIsolated { showWindow() } }
        let handler = unsafeBitCast(activate, to: GCallback.self)
        g_signal_connect_data(app, "activate", handler, nil, nil, GConnectFlags(rawValue: 0))
        exit(g_application_run(UnsafeMutableRawPointer(app).assumingMemoryBound(to: GApplication.self), 0, nil))

        """
    }
}
