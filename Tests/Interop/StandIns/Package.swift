// swift-tools-version: 6.0

import PackageDescription

let package = Package(
    name: "StandIns",
    products: [
        .library(name: "StandIns", targets: ["StandIns"]), .library(name: "CGtk4", targets: ["CGtk4"]),
    ],
    targets: [
        .systemLibrary(name: "CGtk4", pkgConfig: "gtk4"),
        .target(name: "StandIns", dependencies: ["CGtk4"], swiftSettings: [.swiftLanguageMode(.v5)]),
    ]
)
