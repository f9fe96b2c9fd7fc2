internal import CWebImageCurl
internal import CWebImageShims
import Foundation
import WebImageCore

/// The network thread: everything in here happens on it, so nothing is locked.
final class CurlThread {
    private let configuration: CurlConfiguration
    private let inbox: CurlInbox
    private let multi: OpaquePointer
    /// Transfers that wait or run, by URL.
    private var transfers: [String: CurlTransfer] = [:]
    private var waiting = PriorityQueue<CurlTransfer>()
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// Handles of ended transfers, kept for the next ones.
    private var spare: [UnsafeMutableRawPointer] = []
    /// The loader is gone: what is under way is finished, and then the thread ends.
    private var isStopping = false

    /// A multi handle, which any thread may wake.
    private struct Waker: @unchecked Sendable {
        let multi: OpaquePointer
    }

    static func start(_ configuration: CurlConfiguration, _ inbox: CurlInbox) {
        let thread = Thread { CurlThread(configuration, inbox).run() }
        thread.name = "gwi-network"
        thread.start()
    }

    private init(_ configuration: CurlConfiguration, _ inbox: CurlInbox) {
        self.configuration = configuration
        self.inbox = inbox
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        multi = OpaquePointer(curl_multi_init()!)
    }

    private func run() {
        let multi = UnsafeMutableRawPointer(multi)
        gwi_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConcurrentTransfers)
        let waker = Waker(multi: self.multi)
        inbox.setWake { curl_multi_wakeup(UnsafeMutableRawPointer(waker.multi)) }
        while !isStopping || !transfers.isEmpty {
            for command in inbox.take() { obey(command) }
            startWaiting()
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            finishDone()
            // What ended has made room for what waits, or was all that kept the thread.
            let hasRoom = running.count < configuration.maximumConcurrentTransfers
            if waiting.count > 0, hasRoom { continue }
            if isStopping, transfers.isEmpty { break }
            curl_multi_poll(multi, nil, 0, 60_000, nil)
        }
        inbox.setWake(nil)
        spare.forEach { curl_easy_cleanup($0) }
        curl_multi_cleanup(multi)
    }

    private func obey(_ command: CurlCommand) {
        switch command {
        case .start(let operation):
            guard !operation.isCancelled else { return }
            join(operation)
        case .cancel(let operation):
            guard let transfer = transfers[operation.request.url.absoluteString] else { return }
            transfer.leave(operation)
            if transfer.operations.isEmpty { drop(transfer) } else { updatePriority(of: transfer) }
        case .prioritize(let operation):
            if let transfer = transfers[operation.request.url.absoluteString] { updatePriority(of: transfer) }
        case .deliverData(let operation):
            guard !operation.wantsData else { return }
            operation.startDeliveringData()
            transfers[operation.request.url.absoluteString]?.replay(to: operation)
        case .stop:
            isStopping = true
        }
    }

    private func join(_ operation: CurlOperation) {
        let key = operation.request.url.absoluteString
        if let transfer = transfers[key] {
            transfer.join(operation)
            updatePriority(of: transfer)
            return
        }
        let transfer = CurlTransfer(operation.request.url, configuration)
        transfers[key] = transfer
        transfer.join(operation)
        transfer.priority = operation.priority
        transfer.number = waiting.push(transfer, transfer.priority)
    }

    private func updatePriority(of transfer: CurlTransfer) {
        transfer.priority = transfer.operations.map(\.priority).max() ?? .normal
        if let number = transfer.number { waiting.move(number, to: transfer.priority) }
    }

    private func startWaiting() {
        while running.count < configuration.maximumConcurrentTransfers, let transfer = waiting.pop() {
            transfer.number = nil
            guard let easy = spare.popLast() ?? curl_easy_init() else {
                end(transfer, .failure(transfer.error(.connectionFailed, "libcurl has no memory for a handle")))
                continue
            }
            transfer.configure(easy)
            running[easy] = transfer
            let code = curl_multi_add_handle(UnsafeMutableRawPointer(multi), easy)
            if code != CURLM_OK {
                end(transfer, .failure(transfer.error(.connectionFailed, String(cString: curl_multi_strerror(code)))))
            }
        }
    }

    private func finishDone() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(UnsafeMutableRawPointer(multi), &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            guard let transfer = running[easy] else { continue }
            end(transfer, transfer.result(message.pointee.data.result))
        }
    }

    /// Nobody waits for it any more.
    private func drop(_ transfer: CurlTransfer) {
        release(transfer)
    }

    private func end(_ transfer: CurlTransfer, _ result: Result<LoadedData, ImageError>) {
        release(transfer)
        for operation in transfer.operations { operation.send(.finished(result)) }
    }

    private func release(_ transfer: CurlTransfer) {
        if transfers[transfer.url.absoluteString] === transfer { transfers[transfer.url.absoluteString] = nil }
        if let number = transfer.number { _ = waiting.remove(number) }
        guard let easy = transfer.takeHandle() else { return }
        running[easy] = nil
        curl_multi_remove_handle(UnsafeMutableRawPointer(multi), easy)
        if spare.count < configuration.maximumConcurrentTransfers {
            curl_easy_reset(easy)
            spare.append(easy)
        } else {
            curl_easy_cleanup(easy)
        }
    }
}
