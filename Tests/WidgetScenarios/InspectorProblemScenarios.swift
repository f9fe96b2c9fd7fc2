internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageInspector
import GtkWebImageWidgets
import Synchronization
import TestSupport
import WebImageTesting

extension Scenario {
    /// How the inspector finds, orders and exports loads.
    static let inspectorProblems: [Scenario] = [
        Scenario("The inspector counts failed, slow and oversized loads, and a press on a count lists only these") {
            let gate = ServerGate()
            let large = TestImage.solid(0x336699, size: PixelSize(width: 2400, height: 2000))
            let stage = try Stage { request in
                if request.path == "/large.png" { return .ok(large, contentType: "image/png") }
                var response = Stage.answer(request)
                if request.path.contains("/65x48") { response.faults.gate = gate }
                return response
            }
            let inspector = stage.openInspector()
            expectEqual(inspector.problems, ["0 failed", "0 slow", "0 too large"])
            stage.addImage().setImage(with: stage.url(0x993366), completion: stage.completion)
            stage.addImage().setImage(with: stage.server.url("/large.png"), completion: stage.completion)
            stage.waitForResults(2)
            stage.manager.load(stage.server.url("/missing.png"), completion: stage.completion)
            stage.waitForResults(3)
            // A load that goes on is slow once it has taken long.
            stage.manager.load(stage.url(0x336699, "65x48"), completion: stage.completion)
            let names = ["failed", "slow", "too large"]
            expect(
                MainLoopPump.run(until: { names.allSatisfy { inspector.problem($0) != nil } }),
                "\(inspector.problems)"
            )
            try inspector.press(try require(inspector.problem("failed"))) { inspector.titles == ["missing.png"] }
            // The widget may have loaded it again at its final size.
            try inspector.press(try require(inspector.problem("too large"))) {
                inspector.titles.map { Set($0) } == ["large.png"]
            }
            // A busy machine may make others slow, too.
            try inspector.press(try require(inspector.problem("slow"))) {
                let slow = inspector.state?.lines.filter { ($0.duration ?? .seconds(1)) >= .seconds(1) }
                return inspector.titles == slow?.reversed().map(\.title) && inspector.titles?.first == "65x48.png"
            }
            gate.open()
            stage.waitForResults(4)
            // The details begin with the problem.
            let line = try stage.waitForLine(of: inspector) { $0.title == "large.png" }
            inspector.openLine(line.id)
            let details = try require(inspector.state?.details)
            expect(details.hasPrefix("Problems\n"), details)
            expect(details.contains("  Too large: The file has 2400 × 2000 pixels"), details)
        },

        Scenario("The list of the inspector is filtered by a part of the URL, and ordered by time and bytes") {
            let gate = ServerGate()
            let stage = try Stage(gates: [0x336699: gate])
            let inspector = stage.openInspector()
            stage.manager.load(stage.url(0x336699, "200x200"), completion: stage.completion)
            stage.manager.load(stage.url(0x993366, "20x20"), completion: stage.completion)
            stage.waitForResults(1)
            stage.manager.load(stage.url(0x993366, "600x600"), completion: stage.completion)
            stage.waitForResults(2)
            gate.open()
            stage.waitForResults(3)
            expect(MainLoopPump.run(until: { inspector.state?.lines.filter { !$0.isRunning }.count == 3 }))
            expectEqual(inspector.titles, ["600x600.png", "20x20.png", "200x200.png"])
            let order = try require(inspector.controls(of: gtk_drop_down_get_type()).first)
            gtk_drop_down_set_selected(order.opaque, 1)
            expectEqual(inspector.titles?.first, "200x200.png", "the slowest")
            gtk_drop_down_set_selected(order.opaque, 2)
            expectEqual(inspector.titles, ["600x600.png", "200x200.png", "20x20.png"])
            let search = try require(inspector.controls(of: gtk_search_entry_get_type()).first)
            gtk_editable_set_text(search.opaque, "993366/6")
            expect(MainLoopPump.run(until: { inspector.titles == ["600x600.png"] }), "\(inspector.titles ?? [])")
            gtk_editable_set_text(search.opaque, "no such URL")
            expect(MainLoopPump.run(until: { inspector.titles == [] }))
            try inspector.press("Show All") { inspector.titles?.count == 3 }
        },

        Scenario("Loads of a URL that fail again and again share a line of the inspector") {
            let isBroken = Mutex(true)
            let stage = try Stage { isBroken.withLock { $0 } ? .status(503) : Stage.answer($0) }
            let inspector = stage.openInspector()
            stage.manager.load(stage.url(0x993366), completion: stage.completion)
            for count in 2...4 {
                stage.waitForResults(count - 1)
                stage.manager.load(stage.url(0x336699), completion: stage.completion)
            }
            stage.waitForResults(4)
            let line = try stage.waitForLine(of: inspector) { $0.id == 1 && $0.retries.count == 2 && !$0.isRunning }
            expectEqual(inspector.state?.rows, [1, 0])
            expectEqual(inspector.state?.requestCount, 4)
            isBroken.withLock { $0 = false }
            stage.manager.load(stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(5)
            let last = try stage.waitForLine(of: inspector) { $0.sourceName == "Network" }
            expectEqual(last.id, line.id)
            expect(last.start > line.start)
            inspector.openLine(last.id)
            let details = try require(inspector.state?.details)
            for part in ["Attempt 3: ", "Status: 200"] {
                expect(details.contains(part), "\(part) is missing in \(details)")
            }
            // A load after a success is a line again.
            stage.manager.load(stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(6)
            expect(MainLoopPump.run(until: { inspector.state?.rows == [2, 1, 0] }))
        },

        Scenario("The bars of the inspector share one axis, in which pauses take no space") {
            let stage = try Stage()
            let inspector = stage.openInspector()
            for (count, color) in ([0x336699, 0x993366, 0x669933] as [UInt32]).enumerated() {
                stage.manager.load(stage.url(color), completion: stage.completion)
                stage.waitForResults(count + 1)
                stage.waitUntilIdle()
                expect(stage.waitForFrame())
            }
            expect(MainLoopPump.run(until: { inspector.state?.lines.filter { !$0.isRunning }.count == 3 }))
            let state = try require(inspector.state)
            // The newest line is the first, and ends with the axis.
            expectEqual(state.bars.last?.first, 0)
            expect(abs(try require(state.bars.first?.last) - 1) < 1e-6)
            for (later, earlier) in zip(state.bars, state.bars.dropFirst()) {
                expect(abs(later[0] - earlier[1]) < 1e-6, "\(state.bars)")
            }
            // The scale is the same for all.
            let total = state.lines.compactMap(\.duration).reduce(.zero, +)
            for (line, bar) in zip(state.lines.reversed(), state.bars) {
                expect(abs(try require(line.duration) / total - (bar[1] - bar[0])) < 1e-6, "\(line.title)")
            }
        },

        Scenario("The empty list of the inspector loads the images of the window again") {
            let stage = try Stage()
            let picture = stage.addImage()
            stage.present()
            picture.setImage(with: stage.url(0x336699), completion: stage.completion)
            stage.waitForResults(1)
            let inspector = stage.openInspector()
            expectEqual(inspector.titles, [])
            try inspector.press("Load Images Again") { inspector.state?.lines.first?.sourceName == "Network" }
            expectEqual(inspector.titles, ["64x48.png"])
            expectEqual(stage.server.requests.count, 2)
        },

        Scenario("The inspector exports its loads as an HTTP Archive, with times that add up and without secrets") {
            let stage = try Stage { request in
                if request.path == "/missing.png" { return .notFound }
                var response = Stage.answer(request)
                response.headers += [("Set-Cookie", "session=hush"), ("Cache-Control", "max-age=60")]
                return response
            }
            let inspector = stage.openInspector()
            let begin = Date.now
            let url = try require(
                URL(
                    string: stage.url(0x336699).absoluteString.replacing("://", with: "://user:hush@") + "?w=1&sig=hush"
                )
            )
            for (count, url) in [url, url, stage.server.url("/missing.png")].enumerated() {
                stage.manager.load(url, completion: stage.completion)
                stage.waitForResults(count + 1)
                stage.waitUntilIdle()
            }
            expect(MainLoopPump.run(until: { inspector.state?.lines.filter { !$0.isRunning }.count == 3 }))
            let text = try require(inspector.archive)
            expect(!text.contains("hush"), text)
            // Decoding fails if a key is missing that the format demands.
            let archive = try JSONDecoder().decode(Archive.self, from: Data(text.utf8)).log
            expectEqual(archive.version, "1.2")
            expectEqual(archive.creator.name, "GtkWebImage")
            expectEqual(archive.entries.map(\.response.status), [200, 200, 404])
            expectEqual(
                archive.entries.map { $0.response.bodySize < 0 },
                [false, true, true],
                "only one had a transfer that ended"
            )
            let entry = archive.entries[0]
            expectEqual(entry.request.url, stage.url(0x336699).absoluteString + "?w=…&sig=…")
            expectEqual(entry.request.queryString.map(\.name), ["w", "sig"])
            expectEqual(entry.response.content.mimeType, "image/png")
            expectEqual(entry.response.content.size, entry.response.bodySize)
            let headers = Dictionary(uniqueKeysWithValues: entry.response.headers.map { ($0.name, $0.value) })
            expectEqual(headers["cache-control"], "max-age=60")
            expectEqual(headers["set-cookie"], "(hidden)")
            let lines = try require(inspector.state?.lines)
            for (entry, line) in zip(archive.entries, lines) {
                let times = entry.timings
                let sum = [times.blocked, times.dns, times.connect, times.send, times.wait, times.receive]
                    .reduce(0) { $0 + max($1, 0) }
                expect(abs(sum - entry.time) < 0.01, "\(entry.time) is not the sum of \(times)")
                let duration = try require(line.duration) / .milliseconds(1)
                expect(entry.time > 0 && entry.time <= duration + 1, "\(entry.time) of \(duration)")
                let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
                let start = try Date(entry.startedDateTime, strategy: style)
                expect(start >= begin - 1 && start <= .now, entry.startedDateTime)
            }
            // Copying puts the same text into the clipboard.
            gtk_widget_activate_action_variant(try require(inspector.pane).widget, "inspector.copy", nil)
            var value = GValue()
            g_value_init(&value, g_type_from_name("gchararray"))
            defer { g_value_unset(&value) }
            let clipboard = gdk_clipboard_get_content(gtk_widget_get_clipboard(stage.window))
            expect(gdk_content_provider_get_value(clipboard, &value, nil) != 0)
            expectEqual(g_value_get_string(&value).map { String(cString: $0) }, text)
        },

        Scenario("An HTTP Archive is complete whatever length a loader states, and does not name folders of the user") {
            let stage = try Stage()
            let folder = TemporaryDirectory()
            let inspector = stage.openInspector()
            let file = URL(filePath: "\(folder.path)/local.png")
            let png = TestImage.solid(0x336699, size: PixelSize(width: 8, height: 8), format: .png)
            try png.write(to: file)
            var odd = ImageRequest(url: URL(string: "odd:image")!)
            odd.loader = OddLoader(file: png)
            for (count, request) in [odd, ImageRequest(url: file)].enumerated() {
                stage.manager.load(request, completion: stage.completion)
                stage.waitForResults(count + 1)
            }
            expect(MainLoopPump.run(until: { inspector.state?.lines.filter { !$0.isRunning }.count == 2 }))
            let text = try require(inspector.archive)
            let entries = try JSONDecoder().decode(Archive.self, from: Data(text.utf8)).log.entries
            expectEqual(entries.map(\.request.url), ["odd:…", "file:///local.png"])
            expectEqual(entries.first?.response.content.size, -1)
            expect(!text.contains(folder.path), text)
        },
    ]
}

/// Loads a file with a head whose length is no number.
private struct OddLoader: AsyncDataLoading {
    let file: Data

    func canLoad(_: URL) -> Bool { true }

    func data(for request: LoaderRequest) async throws -> LoaderResult {
        let headers = ["content-length": "nan", "content-encoding": "gzip"]
        return LoaderResult(data: file, head: ResponseHead(url: request.url, status: 200, headers: headers))
    }
}

/// What an HTTP Archive must have: http://www.softwareishard.com/blog/har-12-spec.
private struct Archive: Decodable {
    let log: Log

    struct Log: Decodable {
        let version: String
        let creator: Creator
        let entries: [Entry]
    }

    struct Creator: Decodable { let name, version: String }

    struct Entry: Decodable {
        let startedDateTime: String
        let time: Double
        let request: Request
        let response: Response
        let cache: [String: String]
        let timings: Timings
    }

    struct Request: Decodable {
        let method, url, httpVersion: String
        let headers, queryString, cookies: [Field]
        let headersSize, bodySize: Int
    }

    struct Response: Decodable {
        let status: Int
        let statusText, httpVersion, redirectURL: String
        let headers, cookies: [Field]
        let content: Content
        let headersSize, bodySize: Int
    }

    struct Content: Decodable {
        let size: Int
        let mimeType: String
    }

    struct Field: Decodable { let name, value: String }

    struct Timings: Decodable { let blocked, dns, connect, ssl, send, wait, receive: Double }
}

extension ImageInspector {
    /// The titles of the listed lines.
    fileprivate var titles: [String]? {
        state.map { state in state.rows.compactMap { id in state.lines.first { $0.id == id }?.title } }
    }

    /// The names of the visible buttons for problems.
    fileprivate var problems: [String] {
        controls(of: gtk_toggle_button_get_type()).compactMap(label).filter { $0.first?.isNumber == true }
    }

    /// The name of a button for a problem that some load has.
    fileprivate func problem(_ name: String) -> String? {
        problems.first { $0.contains(name) && !$0.hasPrefix("0") }
    }

    private func label(_ button: UnsafeMutablePointer<GtkWidget>) -> String? {
        gtk_button_get_label(button.as(GtkButton.self)).map { String(cString: $0) }
    }

    /// Presses a visible button of the pane until that has had its effect.
    func press(_ name: String, until isDone: () -> Bool) throws {
        let button = try require(controls(of: gtk_button_get_type()).first { label($0) == name }, "\(name) is missing")
        gtk_widget_activate(button)
        expect(MainLoopPump.run(until: isDone), "\(name) has no effect")
    }

    /// The visible widgets of a type within the pane, in their order.
    func controls(of type: GType) -> [UnsafeMutablePointer<GtkWidget>] {
        var found: [UnsafeMutablePointer<GtkWidget>] = []
        var pending = pane.map { [$0.widget] } ?? []
        while let next = pending.popLast() {
            let instance = UnsafeMutableRawPointer(next).assumingMemoryBound(to: GTypeInstance.self)
            if gtk_widget_get_mapped(next) != 0, g_type_check_instance_is_a(instance, type) != 0 { found.append(next) }
            var child = gtk_widget_get_last_child(next)
            while let current = child {
                pending.append(current)
                child = gtk_widget_get_prev_sibling(current)
            }
        }
        return found
    }
}
