package import FoundationEssentials

extension ImageDecryptor {
    /// Decrypts the loaded bytes.
    package func result(
        of loaded: LoaderResult,
        _ head: ResponseHead,
        url: URL
    ) -> Result<LoaderResult, ImageError> {
        guard let data = decrypt(loaded.data, head) else {
            return .failure(
                ImageError(
                    .badImageData,
                    url: url,
                    reason: "The decryptor \(key) cannot decrypt the bytes",
                    remedy: "Check that its key is the one with which they are encrypted."
                )
            )
        }
        var loaded = loaded
        loaded.data = data
        return .success(loaded)
    }
}
