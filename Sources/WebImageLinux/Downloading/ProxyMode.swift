public import FoundationEssentials

/// Which HTTP proxy requests go through.
public enum ProxyMode: Sendable, Hashable {
    /// That of the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, when any is set, else
    /// that of the desktop (`GProxyResolver`), which may say another one for each URL.
    case system
    /// That of the environment variables.
    case environment
    /// None.
    case none
    /// This one: `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`.
    case fixed(URL)
}
