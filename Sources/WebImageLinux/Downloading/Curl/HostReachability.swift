internal import CWebImageGLib

/// A check whether a host may be reached without an internet connection.
enum HostReachability {
    /// Whether a host is this machine or may be in the local network: a loopback, private or link-local address, a name
    /// without a dot, or a name that ends in `.local` (RFC 6762) or `.localhost` (RFC 6761).
    static func isLocal(_ host: String) -> Bool {
        let host = host.lowercased()
        // The scope of an IPv6 address names an interface (RFC 4007, 11), which GLib resolves and may not know.
        let address = host.prefix { $0 != "%" }
        if let address = g_inet_address_new_from_string(String(address)) {
            defer { g_object_unref(address) }
            return isLocal(address)
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count == 1 || labels.last == "local" || labels.last == "localhost"
    }

    private static func isLocal(_ address: UnsafeMutablePointer<GInetAddress>) -> Bool {
        if g_inet_address_get_is_loopback(address) != 0 || g_inet_address_get_is_link_local(address) != 0
            || g_inet_address_get_is_site_local(address) != 0
        {
            return true
        }
        guard g_inet_address_get_family(address) == G_SOCKET_FAMILY_IPV6 else { return false }
        let bytes = UnsafeBufferPointer(start: g_inet_address_to_bytes(address), count: 16)
        // GLib does not count unique local addresses, fc00::/7 (RFC 4193), as site-local.
        if bytes[0] & 0xfe == 0xfc { return true }
        // An IPv4-mapped address, ::ffff:0:0/96, is as local as its IPv4 address (RFC 4291, 2.5.5.2).
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
        guard isMapped, let start = bytes.baseAddress,
            let mapped = g_inet_address_new_from_bytes(start + 12, G_SOCKET_FAMILY_IPV4)
        else { return false }
        defer { g_object_unref(mapped) }
        return isLocal(mapped)
    }
}
