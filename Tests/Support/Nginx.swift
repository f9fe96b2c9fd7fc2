package import FoundationEssentials
import Glibc
import WebImageTesting

/// nginx on 127.0.0.1 with files of the test, without TLS, with TLS and HTTP/2, and with HTTP/3 where nginx has it.
package final class Nginx: Sendable {
    /// The reason why nginx does not run.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The certificate of a server.
    package enum Certificate: CaseIterable, Sendable {
        /// Valid for 127.0.0.1 and signed by the authority of authorityFile.
        case good
        /// Like `good`, but for another host.
        case otherName
        /// Like `good`, but expired yesterday.
        case expired
        /// Signed only by itself.
        case selfSigned
    }

    /// Whether the installed nginx has HTTP/3.
    package static let supportsHTTP3: Bool = {
        let search = "PATH=$PATH:/usr/sbin:/sbin; nginx -V"
        return (try? ChildProcess.run("sh", ["-c", search]).output.contains("http_v3_module")) ?? false
    }()

    private let folder = TemporaryDirectory()
    /// Receives datagrams and answers none, as on a network that drops UDP packets.
    private let silence: SilentSocket
    private let ports: [String: UInt16]
    private let daemon: DaemonProcess

    /// Where clients find the server with a good certificate.
    private let host: String

    /// Starts nginx.
    /// - Parameters:
    ///   - files: The contents of the files by name.
    ///   - host: The address in the URLs of the server with a good certificate. With another one than 127.0.0.1, which
    ///     Tests/lossy-network makes, nginx listens on all addresses. Default: 127.0.0.1.
    package init(files: [String: Data], host: String = "127.0.0.1") throws {
        self.host = host
        let root = folder.path
        try FileManager.default.createDirectory(atPath: "\(root)/files", withIntermediateDirectories: true)
        for (name, data) in files { try data.write(to: URL(filePath: "\(root)/files/\(name)")) }
        try Self.makeCertificates(in: root)
        let names = ["clear", "secured", "dropped"] + Certificate.allCases.map { "\($0)" }
        let ports = Dictionary(uniqueKeysWithValues: zip(names, try LocalPort.free(count: names.count)))
        silence = try SilentSocket(port: ports["dropped"]!)
        self.ports = ports
        let listening = host == "127.0.0.1" ? host : "0.0.0.0"
        try Self.configuration(root, ports, listening: listening).write(
            toFile: "\(root)/nginx.conf",
            atomically: true,
            encoding: .utf8
        )
        daemon = try DaemonProcess(
            "nginx",
            ["-p", root, "-e", "\(root)/error.log", "-c", "\(root)/nginx.conf"],
            environment: ["PATH": "\(ProcessInfo.processInfo.environment["PATH"] ?? ""):/usr/sbin:/sbin"]
        )
        let (daemon, allPorts) = (daemon, Array(ports.values))
        // nginx opens its ports one after the other.
        let isReady = { allPorts.allSatisfy(LocalPort.isOpen) }
        guard
            EventLog<Int>.poll(until: { isReady() || daemon.output.contains("not found") }),
            isReady()
        else {
            daemon.stop()
            throw Failure(
                description: "nginx does not start (\(daemon.output)); is it installed? Tests/run takes care of that."
            )
        }
    }

    /// The client certificate that the server of securedURL(_:) requires, in PEM, and its key.
    package var clientCertificate: (file: String, key: String) {
        ("\(folder.path)/client.pem", "\(folder.path)/client.key")
    }

    /// The URL of a file on the server that requires a client certificate.
    package func securedURL(_ name: String) -> URL { URL(string: "https://127.0.0.1:\(ports["secured"]!)/\(name)")! }

    /// The URL of a file on a host that sends Strict-Transport-Security (RFC 6797).
    package func strictURL(_ name: String, scheme: String) -> URL {
        URL(string: "\(scheme)://localhost:\(ports["good"]!)/\(name)")!
    }

    /// The URL of a file on a server whose UDP port never answers.
    package func droppedURL(_ name: String) -> URL { URL(string: "https://127.0.0.1:\(ports["dropped"]!)/\(name)")! }

    /// The datagrams that came to the port that never answers.
    package var droppedCount: Int { silence.count }

    /// The path of the certificate of the authority that signed `good`, in PEM.
    package var authorityFile: String { "\(folder.path)/authority.pem" }

    /// The path of a certificate of the server, in PEM.
    package func certificateFile(_ certificate: Certificate) -> String { "\(folder.path)/\(certificate).pem" }

    package func url(_ name: String) -> URL { URL(string: "http://127.0.0.1:\(ports["clear"]!)/\(name)")! }

    /// The URL of a file that stays fresh for an hour.
    package func freshURL(_ name: String) -> URL { url("fresh/\(name)") }

    /// The URL of a file whose format nginx chooses by Accept: AVIF, WebP or JPEG.
    package func negotiatedURL(_ name: String) -> URL { url("negotiated/\(name)") }

    package func url(_ name: String, _ certificate: Certificate) -> URL {
        URL(string: "https://\(certificate == .good ? host : "127.0.0.1"):\(ports["\(certificate)"]!)/\(name)")!
    }

    /// A line for each answered request: protocol, port of the client, which stands for the connection, and path.
    package var log: [String] {
        let text = (try? String(contentsOfFile: "\(folder.path)/access.log", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    private static func configuration(_ root: String, _ ports: [String: UInt16], listening: String) -> String {
        let good = ports["good"]!
        let quic = supportsHTTP3 ? "listen \(listening):\(good) quic;" : ""
        let secure = Certificate.allCases.map { certificate in
            """
            server {
                listen \(listening):\(ports["\(certificate)"]!) ssl http2;
                ssl_certificate \(root)/\(certificate).pem;
                ssl_certificate_key \(root)/\(certificate).key;
                \(certificate == .good ? quic : "")
                add_header Strict-Transport-Security max-age=1000;
                root \(root)/files;
                rewrite ^/cleartext/(.*)$ http://localhost:$server_port/$1 redirect;
                rewrite ^/insecure/(.*)$ http://127.0.0.1:\(ports["clear"]!)/$1 redirect;
                location /slow/ { alias \(root)/files/; limit_rate_after 1k; limit_rate 64k; }
            }
            """
        }
        return """
            daemon off;
            master_process off;
            pid \(root)/nginx.pid;
            events { worker_connections 512; }
            http {
                log_format test '$server_protocol $remote_port $uri';
                access_log \(root)/access.log test;
                client_body_temp_path \(root)/a; proxy_temp_path \(root)/b; fastcgi_temp_path \(root)/c;
                uwsgi_temp_path \(root)/d; scgi_temp_path \(root)/e;
                map $http_accept $suffix { ~image/avif .avif; ~image/webp .webp; default .jpg; }
                server {
                    listen 127.0.0.1:\(ports["clear"]!);
                    root \(root)/files;
                    location ~ ^/negotiated/(?<name>.*)$ {
                        try_files /$name$suffix =404;
                        add_header Vary Accept;
                        expires 1h;
                    }
                    location /fresh/ { alias \(root)/files/; expires 1h; }
                }
                \(secure.joined(separator: "\n"))
                server {
                    listen 127.0.0.1:\(ports["dropped"]!) ssl http2;
                    ssl_certificate \(root)/good.pem;
                    ssl_certificate_key \(root)/good.key;
                    root \(root)/files;
                }
                server {
                    listen 127.0.0.1:\(ports["secured"]!) ssl http2;
                    ssl_certificate \(root)/good.pem;
                    ssl_certificate_key \(root)/good.key;
                    ssl_client_certificate \(root)/authority.pem;
                    ssl_verify_client on;
                    root \(root)/files;
                }
            }
            """
    }

    /// Makes an authority and a certificate of each kind.
    private static func makeCertificates(in root: String) throws {
        let script = """
            set -e
            cd '\(root)'
            key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
            key authority
            openssl req -x509 -new -key authority.key -subj '/CN=Test authority' -days 30 -out authority.pem
            # Of the commands that sign, only `ca` makes a certificate of the past with OpenSSL 3.0 as well as with 3.5.
            printf '%s\n' '[ca]' 'default_ca = test' '[test]' 'new_certs_dir = .' 'database = index' 'serial = serial' \
                'policy = policy' 'default_md = sha256' 'unique_subject = no' '[policy]' 'commonName = supplied' > ca.conf
            touch index
            echo 01 > serial
            sign() {
                name="$1" subject="$2" alternatives="$3"
                shift 3
                key "$name"
                openssl req -new -key "$name.key" -subj "/CN=$subject" -out "$name.csr"
                printf 'subjectAltName=%s\n' "$alternatives" > "$name.ext"
                openssl ca -batch -notext -config ca.conf -cert authority.pem -keyfile authority.key \
                    -in "$name.csr" -extfile "$name.ext" -out "$name.pem" "$@"
            }
            sign good 127.0.0.1 IP:127.0.0.1,IP:10.9.0.2,DNS:localhost -days 30
            sign client client DNS:client -days 30
            sign otherName other.example DNS:other.example -days 30
            sign expired 127.0.0.1 IP:127.0.0.1 -startdate 20200101000000Z -enddate 20200131000000Z
            key selfSigned
            openssl req -x509 -new -key selfSigned.key -subj '/CN=127.0.0.1' -addext subjectAltName=IP:127.0.0.1 -days 30 \
                -out selfSigned.pem
            """
        let result = try ChildProcess.run("sh", ["-c", script])
        guard result.exitCode == 0 else { throw Failure(description: "openssl: \(result.output)") }
    }
}

/// A bound UDP socket that nobody reads from.
private final class SilentSocket: Sendable {
    private let descriptor: Int32

    init(port: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else { throw Nginx.Failure(description: "UDP port \(port) is not free") }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// The datagrams that have arrived, which are taken out.
    var count: Int {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var count = 0
        while recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) >= 0 { count += 1 }
        return count
    }
}
