// swift-tools-version: 6.0

import PackageDescription

// A view of Adwaita for Swift that shows an image from the web. Copy its one file into an app, or depend on a package like this.
let package = Package(
    name: "AdwaitaView",
    products: [.library(name: "AdwaitaView", targets: ["AdwaitaView"])],
    dependencies: [
        .package(name: "GtkWebImage", path: "../../.."),
        .package(url: "https://git.aparoksha.dev/aparoksha/adwaita-swift", branch: "main"),
    ],
    targets: [
        .target(
            name: "AdwaitaView",
            dependencies: [
                .product(name: "GtkWebImage", package: "GtkWebImage"),
                .product(name: "Adwaita", package: "adwaita-swift"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]
        )
    ]
)
