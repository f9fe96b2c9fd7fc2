// swift-tools-version: 6.0

import PackageDescription

// What the sample views of Demo/Examples see of SwiftCrossUI and of Adwaita for Swift, with the names of their modules.
let v5: [SwiftSetting] = [.swiftLanguageMode(.v5)]

let package = Package(
    name: "Declarative",
    products: [
        .library(name: "SwiftCrossUI", targets: ["SwiftCrossUI", "Gtk", "GtkBackend"]),
        .library(name: "Adwaita", targets: ["Adwaita"]),
    ],
    dependencies: [.package(path: "../StandIns")],
    targets: [
        .target(name: "SwiftCrossUI", swiftSettings: v5),
        .target(name: "Gtk", dependencies: [.product(name: "CGtk4", package: "StandIns")], swiftSettings: v5),
        .target(name: "GtkBackend", dependencies: ["Gtk", "SwiftCrossUI"], swiftSettings: v5),
        .target(name: "Adwaita", dependencies: [.product(name: "CGtk4", package: "StandIns")], swiftSettings: v5),
    ]
)
