import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of Networking.md, compiled. What they do not declare is a parameter here, or a function or a type of the app.

private func overview() {
    var downloader = ImageDownloader.Configuration()
    downloader.headers["Accept-Language"] = "de"
    var configuration = ImageManager.Configuration()
    configuration.downloader = ImageDownloader(configuration: downloader)
    ImageManager.shared = ImageManager(configuration: configuration)
}

private func token(downloader: inout ImageDownloader.Configuration, tokens: Tokens) {
    downloader.requestModifier = RequestModifier(key: "token") { request in
        var request = request
        let refused = request.refusal?.headers["Authorization"]
        request.headers["Authorization"] = "Bearer " + (try await tokens.current(insteadOf: refused))
        return request
    }
}

private func signIn() async throws -> String { "" }

actor Tokens {
    private var token = ""
    private var refresh: Task<String, any Error>?

    /// - Parameter refused: The field that the server has refused; nil at first.
    func current(insteadOf refused: String?) async throws -> String {
        guard token.isEmpty || refused == "Bearer \(token)" else { return token }
        let task =
            refresh
            ?? Task {
                defer { refresh = nil }
                token = try await signIn()
                return token
            }
        refresh = task
        return try await task.value
    }
}

@MainActor
enum PasswordDialog {
    static func ask(for host: String, _ realm: String) async -> NetworkOptions.Credential? {
        await withCheckedContinuation { continuation in
            show("\(host) asks for a password: \(realm)") { user, password in
                continuation.resume(returning: user.map { NetworkOptions.Credential(user: $0, password: password) })
            }
        }
    }

    private static func show(_ text: String, onEnd: @escaping @MainActor (String?, String) -> Void) { onEnd(nil, "") }
}

actor Passwords {
    private var answers: [String: Task<NetworkOptions.Credential?, Never>] = [:]

    func credential(for request: ImageDownloader.CredentialRequest) async -> NetworkOptions.Credential? {
        let (host, realm) = (request.host, request.realm ?? "")
        let known = request.attempt == 1 ? answers[host] : nil
        let answer = known ?? Task { await PasswordDialog.ask(for: host, realm) }
        answers[host] = answer
        return await answer.value
    }
}

private func passwords(downloader: inout ImageDownloader.Configuration, passwords: Passwords) {
    downloader.credential = { request in
        guard !request.isFromProxy, request.attempt < 3 else { return nil }
        return await passwords.credential(for: request)
    }
}

private func http3(downloader: inout ImageDownloader.Configuration) {
    downloader.usesHTTP3 = true
}

private func pinnedKeys(downloader: inout ImageDownloader.Configuration) {
    downloader.pinnedPublicKeys["images.example.org"] = [
        "Vjs8r4z+80wjNcr1YKepWQboSIRi63WsWXhIMN+eWys=", "YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=",
    ]
}

actor PhotoLibrary {
    func file(named name: String) throws -> Data { Data() }
}

struct Photos: AsyncDataLoading {
    let library: PhotoLibrary

    func canLoad(_ url: URL) -> Bool { url.scheme == "photo" }

    func data(for request: LoaderRequest) async throws -> LoaderResult {
        LoaderResult(data: try await library.file(named: request.url.lastPathComponent))
    }
}

@MainActor
private func ownSource(picture: Picture, library: PhotoLibrary) {
    ImageManager.shared.loaders.add(Photos(library: library))
    picture.setImage(with: URL(string: "photo:///sunset.jpg"))
}

private func retries(configuration: inout ImageManager.Configuration) {
    configuration.retryPolicy.maximumCount = 3
    configuration.retryPolicy.offlineWait = .seconds(30)
    configuration.retryPolicy.shouldRetry = { $0.isTransient && $0.code != .timedOut }
}

private func head(url: URL) async throws {
    let response = try await ImageManager.shared.response(for: url)
    print(response.head?.status ?? 0, response.head?.headers["x-served-by"] ?? "", response.head?.url ?? url)
}

private func bytes(url: URL) async throws {
    let bytes = try await ImageManager.shared.data(for: url)
    print(bytes)
}

private func metered() {
    Task {
        for await status in ImageManager.shared.networkUpdates() { ImageManager.shared.isOffline = status.isMetered }
    }
}
