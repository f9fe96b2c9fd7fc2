import FoundationEssentials
import WebImageCore

/// The bytes of a body that have arrived: in memory, or above a limit in a temporary file without a name. The limit is
/// lower while the memory budget has no room for bodies.
struct TransferBody {
    private static let reserveLimit = 8 << 20
    /// The limit while there is no room. A file is not worth its system calls for a smaller body.
    private static let smallBodyLimit = 1 << 20

    private let inMemoryBodyLimit: Int
    private let budget: MemoryBudget?
    /// Counts ``memory``; `nil` before the first byte.
    private var reservation: MemoryBudget.Reservation?
    private var memory = Data()
    private var file: SpillFile?
    private var hasFailed = false

    init(inMemoryBodyLimit: Int, budget: MemoryBudget?) {
        self.inMemoryBodyLimit = inMemoryBodyLimit
        self.budget = budget
    }

    var count: Int { file?.count ?? memory.count }

    /// Adds bytes.
    /// - Parameter expected: The length of the whole body, for which memory is reserved; `nil` if it is not known.
    mutating func append(_ bytes: UnsafeRawBufferPointer, of expected: Int64?) {
        if count == 0, let expected {
            memory.reserveCapacity(Int(max(0, min(expected, Int64(min(inMemoryBodyLimit, Self.reserveLimit))))))
        }
        if file == nil, !hasFailed, memory.count + bytes.count > memoryLimit { spill() }
        if let file, !file.append(bytes) {
            // The disk is full, so the body returns to memory.
            memory = file.data
            self.file = nil
            hasFailed = true
            WebImageLog.notice("A large body is kept in memory because \(SpillFile.directory) has no space left.")
        }
        if file == nil { memory.append(contentsOf: bytes) }
        guard let budget else { return }
        let reservation = reservation ?? budget.arrivingBody()
        if reservation.byteCount != memory.count { reservation.byteCount = memory.count }
        self.reservation = reservation
    }

    private var memoryLimit: Int {
        budget?.keepsBodiesInFiles == true ? min(inMemoryBodyLimit, Self.smallBodyLimit) : inMemoryBodyLimit
    }

    /// Whether the body is in a file.
    var isInFile: Bool { file != nil }

    /// The whole body. A file is mapped into memory rather than read.
    var data: Data { file?.data ?? memory }

    /// The whole body in memory without spare capacity.
    /// - Parameter expected: The expected length, for which memory was reserved; `nil` if it was not known.
    func compactData(expected: Int64?) -> Data {
        guard file == nil, let expected, min(expected, Int64(Self.reserveLimit)) > memory.count + memory.count / 4
        else {
            return data
        }
        return memory.withUnsafeBytes { Data($0) }
    }

    private mutating func spill() {
        guard let file = SpillFile(), memory.withUnsafeBytes({ file.append($0) }) else {
            hasFailed = true
            return
        }
        self.file = file
        memory = Data()
    }
}
