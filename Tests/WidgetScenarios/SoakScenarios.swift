internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageTesting

extension Scenario {
    static let soaks: [Scenario] = [
        // GWI_SOAK_LOADS=100000 runs as many loads, GWI_SOAK_SEED another mixture.
        Scenario(
            "Loads with every mixture of options and lifetimes complete exactly once and leave no widget behind",
            .withoutBroadway
        ) {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["GWI_SOAK_LOADS"].flatMap { Int($0) } ?? 2000
            let soak = try Soak(seed: environment["GWI_SOAK_SEED"].flatMap { UInt64($0) } ?? 1)
            soak.run(loads: count)
            soak.end()
            expectEqual(soak.lost, [], "loads without a completion, by what was asked for")
            expectEqual(soak.repeated, [], "loads with several completions")
            expectEqual(soak.finalizedCount, soak.widgetCount, "freed widgets")
        }
    ]
}

/// Widgets of many kinds, whose loads are mixed at random with everything that can happen to a widget.
@MainActor
private final class Soak {
    /// One load: what was asked for, and how often its completion was called.
    private struct Load {
        let description: String
        var ends = 0
    }

    /// A widget with the place in it that shows images.
    fileprivate struct Place {
        /// `nil` for a paintable.
        let pointer: UnsafeMutablePointer<GtkWidget>?
        let set:
            @MainActor (ImageRequest?, SoakOptions, ImageManager, @escaping @MainActor @Sendable (Stage.Result) -> Void)
                -> ImageTask
        let bindable: any ImageBindable
        /// The wrapper or paintable, which the place keeps alive.
        let owner: AnyObject
        let sequence: (any PictureBindable)?
    }

    private let server: LocalImageServer
    private let window = gtk_window_new()!
    private let boxes: [UnsafeMutablePointer<GtkWidget>]
    private let network = ManualNetwork()
    private let folder = TemporaryDirectory()
    private var manager: ImageManager
    private var generator: SeededGenerator
    private var places: [Place] = []
    private var loads: [Load] = []
    /// Widgets that are in no window for a while, each with a reference.
    private var orphans: [UnsafeMutablePointer<GtkWidget>] = []
    private let finalized = EventLog<Bool>()
    private(set) var widgetCount = 0

    var finalizedCount: Int { finalized.all.count }
    var lost: [String] { loads.filter { $0.ends == 0 }.map(\.description) }
    var repeated: [String] { loads.filter { $0.ends > 1 }.map(\.description) }

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        let images = (0..<16).map {
            TestImage.solid(UInt32($0 * 0x0F0F0F), size: PixelSize(width: 64 + $0 * 8, height: 48))
        }
        server = try LocalImageServer { request in
            let number = Int(request.path.dropFirst()) ?? 0
            var response = ServerResponse.ok(images[number % images.count], contentType: "image/png")
            switch number % 10 {
            case 1: response = .notFound
            case 2: response.body = Data("no image".utf8)
            case 3: response = .status(503)
            case 4: response.faults.delay = .milliseconds(15)
            case 5: response.faults.drip = (40, .milliseconds(1))
            case 6: response.faults.closeAfterBytes = 20
            default: response.headers.append(("Cache-Control", "max-age=\(number % 2 * 60)"))
            }
            return response
        }
        boxes = [
            gtk_flow_box_new(), gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), gtk_box_new(GTK_ORIENTATION_VERTICAL, 0),
        ]
        manager = ImageManager.testing(FakeLoader())
        manager = makeManager()
        let root = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!
        for box in boxes { gtk_box_append(root.as(GtkBox.self), box) }
        gtk_window_set_default_size(window.as(GtkWindow.self), 400, 400)
        // The window would grow with its content until the X server has no memory for it.
        let scrolled = gtk_scrolled_window_new()!
        gtk_scrolled_window_set_child(scrolled.opaque, root)
        gtk_window_set_child(window.as(GtkWindow.self), scrolled)
        gtk_window_present(window.as(GtkWindow.self))
        for _ in 0..<14 { addPlace() }
    }

    func run(loads count: Int) {
        while loads.count < count {
            act()
            if chance(3) { g_main_context_iteration(nil, 0) }
            if chance(60) { for _ in 0..<20 { g_main_context_iteration(nil, 0) } }
        }
    }

    /// Destroys everything and waits for the completions.
    func end() {
        network.status = ImageNetworkStatus()
        while !places.isEmpty { destroy(0) }
        for orphan in orphans { g_object_unref(orphan) }
        orphans = []
        gtk_window_destroy(window.as(GtkWindow.self))
        let isDone = MainLoopPump.run(until: {
            self.loads.allSatisfy { $0.ends > 0 } && self.finalizedCount == self.widgetCount
        })
        expect(
            isDone,
            "\(lost.count) of \(loads.count) completions and \(widgetCount - finalizedCount) widgets are left"
        )
        MainLoopPump.runPending()
    }

    // Chance

    private func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }
    private func pick<T>(_ values: [T]) -> T { values.randomElement(using: &generator)! }

    // What can happen

    private func act() {
        let index = Int.random(in: 0..<places.count, using: &generator)
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<62: load(places[index])
        case 62..<66: loadSequence(places[index])
        case 66..<70: places[index].bindable.cancelImageLoad()
        case 70..<73: places[index].bindable.clearImage(placeholder: placeholder())
        case 73..<75: places[index].bindable.setImage(WebImage.plain, transition: transition())
        case 75..<80: toggleVisibility(places[index])
        case 80..<84: move(places[index])
        case 84..<86: adopt()
        case 86..<90:
            destroy(index)
            addPlace()
        case 90..<92: tie(places[index])
        case 92..<95: configure(places[index])
        case 95: manager = makeManager()
        case 96: network.status.isAvailable.toggle()
        case 97: manager.cache.removeAllFromMemory()
        case 98: gtk_widget_set_visible(boxes[1], gtk_widget_get_visible(boxes[1]) == 0 ? 1 : 0)
        default: manager.forgetAllFailures()
        }
    }

    /// - Returns: The completion of a new load. Now and then it sets another image.
    private func completion(_ description: String, _ place: Place?) -> @MainActor @Sendable (Stage.Result) -> Void {
        let number = loads.count
        loads.append(Load(description: description))
        let setsAnother = place != nil && chance(12)
        let weakPlace = setsAnother ? places.firstIndex { $0.pointer == place?.pointer } : nil
        return { [weak self] _ in
            guard let self else { return }
            loads[number].ends += 1
            if let weakPlace, weakPlace < places.count { load(places[weakPlace], isNested: true) }
        }
    }

    private func load(_ place: Place, isNested: Bool = false) {
        let options = SoakOptions(using: &generator)
        let request = chance(40) ? nil : request()
        let description = "\(request?.url.path() ?? "nothing") \(options.binding)"
        let completion = completion(description, isNested ? nil : place)
        let task = place.set(request, options, manager, completion)
        if chance(20) { task.cancel() }
        if chance(20) { task.priority = pick([.veryLow, .veryHigh]) }
        guard chance(25) else { return }
        let number = loads.count
        loads.append(Load(description: "await " + description))
        Task { @MainActor [weak self] in
            _ = try? await task.response
            self?.loads[number].ends += 1
        }
    }

    private func loadSequence(_ place: Place) {
        guard let picture = place.sequence else { return }
        let options = SoakOptions(using: &generator)
        let urls = (0..<Int.random(in: 0...4, using: &generator)).map { _ in request().url }
        picture.imageBinding.manager = manager
        picture.imageBinding.setAnimation(
            with: urls,
            placeholder: placeholder(),
            options: options.binding,
            completion: completion("\(urls.count) images \(options.binding)", place)
        )
    }

    private func request() -> ImageRequest {
        var request = ImageRequest(url: server.url("/\(Int.random(in: 0..<40, using: &generator))"))
        request.loading = pick([.complete, .progressive])
        request.priority = pick([.low, .normal, .high])
        request.cachePolicy = pick([.standard, .standard, .refresh, .reload, .cachedOnly, .cachedElseLoad])
        if chance(5) { request.cacheAccess = pick([.writingMemoryOnly, .awaitingWrites]) }
        if chance(4) { request.decodeSize = .contain(PixelSize(width: 20, height: 20)) }
        if chance(4) { request.transformer = .grayscale + .rounded(3) }
        if chance(8) { request.fallbackURLs = [server.url("/8"), server.url("/1")] }
        if chance(8) { request.previewURL = server.url("/9") }
        if chance(8) { request.includesData = true }
        if chance(5) { request.rememberedFailure = .ignored }
        return request
    }

    private func placeholder() -> ImagePlaceholder? {
        pick([nil, .icon("image-missing"), .url(server.url("/18")), .blurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj")])
    }

    private func transition() -> ImageTransition? {
        pick([nil, .crossfade(duration: .milliseconds(30)), .slide()])
    }

    private func configure(_ place: Place) {
        place.bindable.imageTransition = transition()
        place.bindable.imageIndicator = pick([nil, .progress, .activity])
        place.bindable.errorPlaceholder = placeholder()
    }

    private func toggleVisibility(_ place: Place) {
        guard let widget = place.pointer else { return }
        gtk_widget_set_visible(widget, gtk_widget_get_visible(widget) == 0 ? 1 : 0)
    }

    /// Ties a load of the app to a widget, or takes one away from it.
    private func tie(_ place: Place) {
        guard let widget = place.pointer.map({ WidgetPointer($0) }) else { return }
        if chance(2) {
            widget.images.detach(pick([.image, OperationKey(rawValue: "tied")]))
        } else {
            let task = manager.load(request(), completion: completion("tied", nil))
            widget.images.attach(task, for: pick([.image, OperationKey(rawValue: "tied")]))
        }
    }

    // Lifetimes

    private func makeManager() -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.maximumMemoryCacheByteCount = pick([0, 40_000, 10_000_000])
        configuration.diskCache = chance(2) ? .init(directory: folder.path) : nil
        configuration.retryPolicy.initialDelay = .milliseconds(5)
        configuration.retryPolicy.offlineWait = pick([.zero, .milliseconds(20)])
        configuration.networkMonitor = network
        configuration.decodingThreadCount = 2
        return ImageManager(configuration: configuration)
    }

    private func addPlace() {
        switch Int.random(in: 0..<7, using: &generator) {
        case 0:
            let button = Button()
            add(button, button.imageBinding(for: .normal))
        case 1:
            let entry = Entry()
            add(entry, entry.iconBinding(at: .primary))
        case 2:
            let image = Image()
            add(image, image.imageBinding)
        case 3:
            let paintable = ImagePaintable()
            places.append(Place(paintable.imageBinding, nil, holding: paintable))
        default:
            let picture = Picture()
            gtk_widget_set_size_request(picture.widget, 30, 20)
            add(picture, picture.imageBinding)
        }
    }

    private func add(_ wrapper: any GtkWidgetConvertible & AnyObject, _ binding: ImageBinding) {
        let widget = wrapper.widget
        let log = finalized
        widgetCount += 1
        g_object_weak_ref(
            UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GObject.self),
            { log, _ in Unmanaged<EventLog<Bool>>.fromOpaque(log!).takeRetainedValue().add(true) },
            Unmanaged.passRetained(log).toOpaque()
        )
        let isPicture = wrapper is Picture
        places.append(
            Place(binding, widget, holding: wrapper, sequence: isPicture ? WidgetPointer(widget) : nil)
        )
        if chance(8) {
            _ = g_object_ref_sink(widget)
            orphans.append(widget)
        } else {
            insert(widget)
        }
    }

    private func insert(_ widget: UnsafeMutablePointer<GtkWidget>) {
        let box = pick(boxes)
        if box == boxes[0] {
            gtk_flow_box_insert(OpaquePointer(box), widget, -1)
        } else {
            gtk_box_append(box.as(GtkBox.self), widget)
        }
    }

    private func remove(_ widget: UnsafeMutablePointer<GtkWidget>) {
        guard let parent = gtk_widget_get_parent(widget) else { return }
        if boxes[1...].contains(parent) {
            gtk_box_remove(parent.as(GtkBox.self), widget)
        } else if let row = gtk_widget_get_ancestor(widget, gtk_flow_box_child_get_type()) {
            gtk_flow_box_child_set_child(row.as(GtkFlowBoxChild.self), nil)
            gtk_flow_box_remove(OpaquePointer(boxes[0]), row)
        }
    }

    /// Moves a widget to another box, at once or after a while without a window.
    private func move(_ place: Place) {
        guard let widget = place.pointer, gtk_widget_get_parent(widget) != nil else { return }
        g_object_ref(widget)
        remove(widget)
        if chance(2) {
            insert(widget)
            g_object_unref(widget)
        } else {
            orphans.append(widget)
        }
    }

    private func adopt() {
        guard let widget = orphans.popLast() else { return }
        insert(widget)
        g_object_unref(widget)
    }

    private func destroy(_ index: Int) {
        let place = places.remove(at: index)
        if let widget = place.pointer { remove(widget) }
    }
}

/// How an image is set.
private struct SoakOptions {
    var binding = BindingOptions()
    var placeholder: ImagePlaceholder?

    init(using generator: inout SeededGenerator) {
        binding.whileLoading = [.placeholder, .placeholderOrCurrentImage, .currentImage].randomElement(
            using: &generator
        )!
        binding.display = [.automatic, .animated, .manual].randomElement(using: &generator)!
        binding.awaitsTransition = Bool.random(using: &generator)
        binding.start = [.whenMapped, .onlyWhileMapped, .immediately].randomElement(using: &generator)!
        binding.previousLoad = [.cancelled, .finishes].randomElement(using: &generator)!
        placeholder = [nil, .icon("image-missing")].randomElement(using: &generator)!
    }
}

extension Soak.Place {
    @MainActor
    fileprivate init(
        _ binding: ImageBinding,
        _ pointer: UnsafeMutablePointer<GtkWidget>?,
        holding owner: AnyObject,
        sequence: (any PictureBindable)? = nil
    ) {
        self.pointer = pointer
        self.sequence = sequence
        bindable = binding
        self.owner = owner
        set = { request, options, manager, completion in
            binding.manager = manager
            return binding.setImage(
                with: request,
                placeholder: options.placeholder,
                options: options.binding,
                progress: { _, _ in },
                partial: { _ in },
                completion: completion
            )
        }
    }
}

extension WebImage {
    fileprivate static let plain = WebImage(
        pixels: PixelBuffer(size: PixelSize(width: 8, height: 8), format: .rgb) { _ in }!
    )
}
