/// The version of this package. The user agent and the gallery use it; a test compares it with the metainfo file and the
/// changelog.
package enum LibraryVersion {
    package static let current = "0.1.0"
}
