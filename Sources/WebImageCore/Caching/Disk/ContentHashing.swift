/// Hashes for the disk cache: names of files and checks of their contents. Speed counts, secrecy does not: what is read
/// is compared with the whole key.
package protocol ContentHashing: Sendable {
    /// A name of at least 128 bits of key, in lower-case hexadecimal.
    func name(for key: String) -> String

    /// 64 bits of bytes, to find damage.
    func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64
}
