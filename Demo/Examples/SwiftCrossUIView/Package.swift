// swift-tools-version: 6.0

import PackageDescription

// A view of SwiftCrossUI that shows an image from the web. Copy its one file into an app, or depend on a package like this.
let package = Package(
    name: "SwiftCrossUIView",
    products: [.library(name: "SwiftCrossUIView", targets: ["SwiftCrossUIView"])],
    dependencies: [
        .package(name: "GtkWebImage", path: "../../.."),
        .package(url: "https://github.com/moreSwift/swift-cross-ui", branch: "main"),
    ],
    targets: [
        .target(
            name: "SwiftCrossUIView",
            dependencies: [
                .product(name: "GtkWebImage", package: "GtkWebImage"),
                .product(name: "SwiftCrossUI", package: "swift-cross-ui"),
                .product(name: "GtkBackend", package: "swift-cross-ui"),
                .product(name: "Gtk", package: "swift-cross-ui"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]
        )
    ]
)
