internal import CWebImageCurl
import Dispatch
import FoundationEssentials
import WebImageCore

// HTTP/3, where libcurl has it and servers offer it.
extension CurlThread {
    /// The endpoint of HTTP/3 for the next exchange; `nil` for TCP.
    func alternative(for transfer: CurlTransfer) -> AlternativeService? {
        guard ImageDownloader.supportsHTTP3, configuration.usesHTTP3, transfer.mayUseAlternative,
            let origin = transfer.origin
        else { return nil }
        return alternatives.endpoint(for: origin)
    }

    /// Learns from the end of an exchange what the origin offers, and how its endpoint has answered.
    /// - Returns: `false` when the exchange has to go out over TCP.
    func noteAlternative(of transfer: CurlTransfer, _ code: CURLcode) -> Bool {
        guard ImageDownloader.supportsHTTP3, let origin = transfer.origin, let handle = transfer.exchange.handle else {
            return true
        }
        if transfer.exchange.alternative != nil {
            let answer = AlternativeServices.Answer(
                code,
                isConnected: handle.isConnected,
                hasTimeLeft: transfer.remainingTime.map { $0.timeoutMilliseconds > 1 } ?? true
            )
            if alternatives.note(answer, of: origin), handle.status == 0 { return false }
        }
        let mayLearn = configuration.usesHTTP3 && !transfer.key.options.allowsInvalidCertificates
        // A server may send a field for each protocol.
        if mayLearn, let field = handle.responseHeaders["alt-svc"],
            alternatives.learn(AlternativeService.offer(in: field), of: origin)
        {
            writeAlternatives()
        }
        return true
    }

    func readAlternatives() {
        guard ImageDownloader.supportsHTTP3, let file = configuration.alternativeServicesFile else { return }
        guard let data = try? FileStore().read(file, maximumByteCount: 1 << 20) else { return }
        alternatives.read(String(decoding: data, as: UTF8.self))
    }

    private func writeAlternatives() {
        guard let file = configuration.alternativeServicesFile else { return }
        let data = Data(alternatives.fileContents.utf8)
        // A slow disk must not delay the transfers.
        Self.fileQueue.async {
            do {
                try FileStore().write([data], to: file)
            } catch {
                WebImageLog.debug("The list of HTTP/3 servers is not kept: \(error)")
            }
        }
    }

    private static let fileQueue = DispatchQueue(label: "gwi-alternative-services")
}
