import FoundationEssentials
import WebImageCore

/// A small file in one of the formats that only gdk-pixbuf decodes. Its quarters are red and lime above, blue and yellow
/// below, of 24 x 16 pixels each.
struct OtherFormatFile: CustomStringConvertible, Sendable {
    let description: String
    let format: ImageFormat
    /// Whether the file says that its pixels are to be turned to the right by 90 degrees.
    var isTurned = false
    private let base64: String

    var data: Data { Data(base64Encoded: base64) ?? Data(base64.utf8) }

    /// Written by avifenc and heif-enc of Debian 12 and, with --irot 3 and an EXIF orientation of 6, by avifenc and cjxl.
    static let all = [
        OtherFormatFile(
            description: "AVIF",
            format: .avif,
            base64: """
                AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUEAAADybWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxpYmF2aWYA\
                AAAADnBpdG0AAAAAAAEAAAAeaWxvYwAAAABEAAABAAEAAAABAAABGgAAAEkAAAAoaWluZgAAAAAAAQAAABppbmZlAgAAAAABAABhdjAxQ29sb3IA\
                AAAAamlwcnAAAABLaXBjbwAAABRpc3BlAAAAAAAAADAAAAAgAAAAEHBpeGkAAAAAAwgICAAAAAxhdjFDgSAAAAAAABNjb2xybmNseAABAA0ABoAA\
                AAAXaXBtYQAAAAAAAAABAAEEAQKDBAAAAFFtZGF0EgAKCTgVL/sICGg0gDI6RKAAggghQOk+6SxV7i5VqPet06RIR5l0rZKOmO0XN58ojQIT/rlK\
                TqO+6W+HV6S2Mtt2Ar6bxEBJgA==
                """
        ),
        OtherFormatFile(
            description: "AVIF, turned",
            format: .avif,
            isTurned: true,
            base64: """
                AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUEAAAD8bWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxpYmF2aWYA\
                AAAADnBpdG0AAAAAAAEAAAAeaWxvYwAAAABEAAABAAEAAAABAAABJAAAAEkAAAAoaWluZgAAAAAAAQAAABppbmZlAgAAAAABAABhdjAxQ29sb3IA\
                AAAAdGlwcnAAAABUaXBjbwAAABRpc3BlAAAAAAAAADAAAAAgAAAAEHBpeGkAAAAAAwgICAAAAAxhdjFDgSAAAAAAABNjb2xybmNseAABAA0ABoAA\
                AAAJaXJvdAMAAAAYaXBtYQAAAAAAAAABAAEFAQKDBIUAAABRbWRhdBIACgk4FS/7CAhoNIAyOkSgAIIIIUDpPuksVe4uVaj3rdOkSEeZdK2Sjpjt\
                FzefKI0CE/65Sk6jvulvh1ektjLbdgK+m8RASYA=
                """
        ),
        OtherFormatFile(
            description: "HEIC",
            format: .heif,
            base64: """
                AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAa1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAA\
                AAACAAAAEGlkYXQAAAAAADAAIAAAADhpbG9jAQAAAERAAAIAAQAAAAAAAAHRAAEAAAAAAAAAQAACAAEAAAAAAAAAAQAAAAAAAAAIAAAAOGlpbmYA\
                AAAAAAIAAAAVaW5mZQIAAAEAAQAAaHZjMQAAAAAVaW5mZQIAAAAAAgAAZ3JpZAAAAADYaXBycAAAALZpcGNvAAAAdmh2Y0MBA3AAAAAAAAAAAAAe\
                8AD8/fj4AAAPAyAAAQAYQAEMAf//A3AAAAMAkAAAAwAAAwAeugJAIQABACpCAQEDcAAAAwCQAAADAAADAB6gIIEFlurkprm4EBAwIAAAAwAgAAAD\
                ACEiAAEABkQBwXPAiQAAABRpc3BlAAAAAAAAAEAAAABAAAAAFGlzcGUAAAAAAAAAMAAAACAAAAAQcGl4aQAAAAADCAgIAAAAGmlwbWEAAAAAAAAA\
                AgABAoECAAICA4QAAAAaaXJlZgAAAAAAAAAOZGltZwACAAEAAQAAAEhtZGF0AAAAPCgBr1j5FOf/v31/fwqG3onO9Wx3HxRP276Fqmb/a4GOCyX8\
                VjUQ4oJQrd4inih0oZUIVj6IHRvlbIDB4A==
                """
        ),
        OtherFormatFile(
            description: "JPEG XL",
            format: .jpegXL,
            base64: """
                /woHQUJxIQASiAIAMAVd5RIAABUqo4wbvJzr+fJDh8W0jesMbbVtYUmiyDg2SSdwmKSgQK5dS4qNMcaoGLzIJQzqo5ECrLwBioB+HeZqjGLrT811\
                KHxcNGXGUxbqKpS7bAA95bwHebe4Y/2TLwjwAQSbaq/G9fZU0nTAyVQtchlcwVXIhrd7QapZlQsAeA7Jku5w2f/V197AyBVSIFGSSPIuJ/Pi8WJm\
                xjip0+gAcECreLoMqEYPktiD9syHrJXJFmEchf59+9XN6z2Vdg+wG4WWInVJHXWW/GwMThD5PaWkZkUF5EFEu+AFM96L0wG3an+p6b4g6f8+VMXc\
                /4TitJCCWYYPJwcTQX7afhEFKL8FPV2CNYcnv3d0vxkIoPnzkNUI79n4I1dX6smuB+ZjS46CAIwKQSH0LYGJHqR89/ffJtIEic7s85E6GRX1tSBB\
                tKEMK4Yjj4mZHw==
                """
        ),
        OtherFormatFile(
            description: "JPEG XL, turned",
            format: .jpegXL,
            isTurned: true,
            base64: """
                AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAAFjanhsY/8KBy2QUFwSABKIAgAwBV3lEgAAFSqjjBu8nOv58kOHxbSN6wxttW1hSaLI\
                ODZJJ3CYpKBArl1Lio0xxqgYvMglDOqjkQKsvAGKgH4d5mqMYutPzXUofFw0ZcZTFuoqlLtsAD3lvAd5t7hj/ZMvCPABBJtqr8b19lTSdMDJVC1y\
                GVzBVciGt3tBqlmVCwB4DsmS7nDZ/9XX3sDIFVIgUZJI8i4n8+LxYmbGOKnT6ABwQKt4ugyoRg+S2IP2zIeslckWYRyF/n371c3rPZV2D7AbhZYi\
                dUkddZb8bAxOEPk9paRmRQXkQUS74AUz3ovTAbdqf6npviDp/z5Uxdz/hOK0kIJZhg8nBxNBftp+EQUovwU9XYI1hye/d3S/GQig+fOQ1Qjv2fgj\
                V1fqya4H5mNLjoIAjApBIfQtgYkepHz3998m0gSJzuzzkToZFfW1IEG0oQwrhiOPiZkf
                """
        ),
        OtherFormatFile(
            description: "SVG",
            format: .svg,
            base64: """
                <svg xmlns="http://www.w3.org/2000/svg" width="48" height="32"><rect width="24" height="16" fill="#f00"/>\
                <rect x="24" width="24" height="16" fill="#0f0"/><rect y="16" width="24" height="16" fill="#00f"/>\
                <rect x="24" y="16" width="24" height="16" fill="#ff0"/></svg>
                """
        ),
    ]
}
