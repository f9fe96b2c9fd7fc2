/// Which hosts can be reached without a way into the internet.
enum HostReachability {
    static func isLocal(_ host: String) -> Bool {
        let host = host.lowercased()
        if host.contains(":") {
            // IPv6: loopback, link-local and unique local addresses.
            return host == "::1" || ["fe8", "fe9", "fea", "feb", "fc", "fd"].contains { host.hasPrefix($0) }
        }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt8($0) }
        if parts.count == 4, numbers.count == 4 { return isLocal(numbers) }
        return parts.count == 1 || parts.last == "local" || parts.last == "localhost"
    }

    /// Loopback, private and link-local addresses (RFC 1918, RFC 3927).
    private static func isLocal(_ address: [UInt8]) -> Bool {
        switch (address[0], address[1]) {
        case (127, _), (10, _), (192, 168), (169, 254), (172, 16...31): true
        default: false
        }
    }
}
