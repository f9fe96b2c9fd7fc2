import TestSupport
import WebImageTesting

/// A system bus of the test's own, on which NetworkManager says that the network is metered, and the daemon for power
/// profiles that the machine saves power. GLib believes them.
final class SystemBus {
    let address: String
    private let bus: DaemonProcess
    private var services: [DaemonProcess] = []

    private struct Failure: Error {
        let description: String
    }

    init() throws {
        bus = try DaemonProcess(
            "dbus-daemon",
            ["--session", "--nofork", "--nopidfile", "--print-address=1"],
            environment: [:]
        )
        let line = bus.waitForOutput { output in output.split(separator: "\n").first { $0.hasPrefix("unix:") } }
        guard let line else { throw Failure(description: "There is no bus: \(bus.output)") }
        address = String(line)
        // NM_STATE_CONNECTED_GLOBAL, NM_CONNECTIVITY_FULL and NM_METERED_YES.
        let network = "{'State': <uint32 70>, 'Connectivity': <uint32 4>, 'Metered': <uint32 1>}"
        try serve("org.freedesktop.NetworkManager", network)
        // The second name is that of newer systems.
        for name in ["net.hadess.PowerProfiles", "org.freedesktop.UPower.PowerProfiles"] {
            try serve(name, "{'ActiveProfile': <'power-saver'>}")
        }
    }

    var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": address] }

    /// Serves an object whose path and interface have the name of the service.
    private func serve(_ name: String, _ properties: String) throws {
        let path = "/" + name.split(separator: ".").joined(separator: "/")
        services.append(
            try DaemonProcess(
                "/usr/bin/python3",
                ["-m", "dbusmock", "--system", name, path, name],
                environment: environment
            )
        )
        let commands = [
            ["wait", "--system", "--timeout=120", name],
            [
                "call", "--system", "--dest", name, "--object-path", path, "--method",
                "org.freedesktop.DBus.Mock.AddProperties", name, properties,
            ],
        ]
        for command in commands {
            let result = try ChildProcess.run("gdbus", command, environment: environment)
            guard result.exitCode == 0 else { throw Failure(description: "\(name): \(result.output)") }
        }
    }
}
