/// A table of what the library aims at, with a limit for each of its figures.
struct ScreenSummary {
    private typealias Names = ScreenResults

    private var rows: [[String]] = []

    /// Adds the rows of a kind of list, and checks their limits, which leave room for a machine that does other work meanwhile.
    mutating func add(_ kind: ScreenList.Kind, _ results: ScreenResults) {
        switch kind {
        case .jpeg: addJPEG(results)
        case .tls:
            addWall(kind, results, goal: "1.05", limit: 1.5)
            addFirst("first 16, s", Names.uncached, results, goal: "the ceiling's times 1.05", limit: 3)
        case .local:
            addWall(kind, results, goal: "1.05", limit: 1.5)
            addWarm("again after a start", results, goal: "0.12 of the ceiling", limit: 0.3)
        case .webp: addWall(kind, results, goal: "1.05", limit: 1.4)
        case .png: addWall(kind, results, goal: "0.60", limit: 1)
        case .progressive: addWall(kind, results, goal: "1.02", limit: 1.4)
        case .partial: addWall(kind, results, goal: "1.05", limit: 1.6)
        case .full: addWall(kind, results, goal: "0.80 of the ceiling", limit: 1.3)
        }
    }

    /// The rows of a table in Markdown.
    func table() -> String {
        let head = ["", Names.ceilingInGTK, Names.pixbuf, "library", "goal"]
        let lines = [head, head.map { _ in "---" }] + rows
        return lines.map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
    }

    private mutating func addJPEG(_ results: ScreenResults) {
        addWall(.jpeg, results, goal: "1.05", limit: 1.5)
        let wall = results.ratio(Names.cold, \.wall, to: Names.uncached)
        let cpu = results.ratio(Names.cold, \.cpu, to: Names.uncached)
        add("with the disk cache, to without: wall / CPU", "\(Rounds.format(wall)) / \(Rounds.format(cpu))", "1.05")
        Limits.check("screen, cold to without a disk cache, wall", wall, atMost: 1.4)
        addFirst("first 16, s", Names.uncached, results, goal: "the ceiling's", limit: 3)
        addFirst("first 16 with the disk cache, s", Names.cold, results, goal: "1.1 of that without", limit: 3.5)
        let turns = [Names.uncached, Names.cold, Names.warm].map { results.median($0, \.turn) }
        let own = [Names.uncached, Names.cold, Names.warm].map { results.median($0, \.ownTurn) }
        rows.append(
            [
                "longest turn of the main loop, ms", Rounds.format(results.median(Names.ceilingInGTK, \.turn)),
                results.has(Names.pixbuf) ? Rounds.format(results.median(Names.pixbuf, \.turn)) : "",
                "\(Rounds.format(turns[0])), cold \(Rounds.format(turns[1])), warm \(Rounds.format(turns[2]))", "",
            ]
        )
        add(
            "of a turn with deliveries the library's own, ms",
            own.map { Rounds.format($0) }.joined(separator: ", "),
            "2"
        )
        let binds = [Names.uncached, Names.cold, Names.warm].map { Rounds.format(results.median($0, \.bind)) }
        add("bind of a mapped widget, us", binds.joined(separator: ", "), "8")
        Limits.check("screen, the library's part of the longest turn, ms", own.max() ?? .infinity, atMost: 12)
        let memory = results.median(Names.uncached, \.memory)
        rows.append(
            [
                "memory above the start, MB", "\(Int(results.median(Names.ceilingInGTK, \.memory)))",
                results.has(Names.pixbuf) ? "\(Int(results.median(Names.pixbuf, \.memory)))" : "", "\(Int(memory))",
                "\(Int(results.pixelMegabytes) + 25)",
            ]
        )
        Limits.check("screen, memory above the pixels, MB", memory - results.pixelMegabytes, atMost: 60)
        addWarm("from disk", results, goal: "0.12 of the ceiling", limit: 0.3)
    }

    /// A row with the wall time and the CPU time of the library without a disk cache.
    private mutating func addWall(_ kind: ScreenList.Kind, _ results: ScreenResults, goal: String, limit: Double) {
        func pair(_ name: String) -> String {
            "\(Rounds.format(results.ratio(name, \.wall))) / \(Rounds.format(results.ratio(name, \.cpu)))"
        }
        let others = results.has(Names.pixbuf) ? pair(Names.pixbuf) : ""
        rows.append(["\(kind.title): wall / CPU", "1", others, pair(Names.uncached) + toCeiling(results), goal])
        Limits.check("screen, \(kind.title), wall", results.ratio(Names.uncached, \.wall), atMost: limit)
    }

    private func toCeiling(_ results: ScreenResults) -> String {
        guard results.has(Names.ceiling) else { return "" }
        return " (\(Rounds.format(results.ratio(Names.uncached, \.wall, to: Names.ceiling))) of the ceiling)"
    }

    private mutating func addFirst(
        _ title: String,
        _ name: String,
        _ results: ScreenResults,
        goal: String,
        limit: Double
    ) {
        let others = results.has(Names.pixbuf) ? Rounds.format(results.median(Names.pixbuf, \.first)) : ""
        let ceiling = Rounds.format(results.median(Names.ceilingInGTK, \.first))
        rows.append([title, ceiling, others, Rounds.format(results.median(name, \.first)), goal])
        Limits.check("screen, \(title), to the ceiling in GTK", results.ratio(name, \.first), atMost: limit)
    }

    private mutating func addWarm(_ title: String, _ results: ScreenResults, goal: String, limit: Double) {
        let (wall, cpu) = (results.ratio(Names.warm, \.wall), results.ratio(Names.warm, \.cpu))
        let ceiling =
            results.has(Names.ceiling)
            ? " (\(Rounds.format(results.ratio(Names.warm, \.wall, to: Names.ceiling))) of the ceiling)" : ""
        add("\(title): wall / CPU", "\(Rounds.format(wall)) / \(Rounds.format(cpu))\(ceiling)", goal)
        Limits.check("screen, \(title), CPU", cpu, atMost: limit)
    }

    private mutating func add(_ title: String, _ value: String, _ goal: String) {
        rows.append([title, "", "", value, goal])
    }
}
