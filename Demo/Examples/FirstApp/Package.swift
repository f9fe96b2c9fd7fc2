// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "FirstApp",
    dependencies: [.package(name: "GtkWebImage", path: "../../..")],
    targets: [
        .systemLibrary(name: "CGtk4", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .executableTarget(
            name: "FirstApp",
            dependencies: [
                "CGtk4",
                .product(name: "GtkWebImage", package: "GtkWebImage"),
                .product(name: "GtkWebImageWidgets", package: "GtkWebImage"),
            ]
        ),
    ]
)
