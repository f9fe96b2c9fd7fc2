package import WebImageCore

extension ImageManager {
    /// What a widget finds in memory when it is bound to a request.
    package func memoryHit(
        of request: some ImageRequestConvertible,
        inAnySize: Bool = false
    ) -> (image: WebImage?, response: ImageResponse?) {
        var prepared = prepare(request.imageRequest)
        return memoryStage.hit(forBinding: &prepared, inAnySize: inAnySize)
    }
}
