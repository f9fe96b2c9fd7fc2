// swift-tools-version: 6.0
import PackageDescription

let images: [Target.Dependency] = [
    "CGtk4",
    .product(name: "GtkWebImage", package: "GtkWebImage"),
    .product(name: "GtkWebImageWidgets", package: "GtkWebImage"),
]
let testing = Target.Dependency.product(name: "WebImageTesting", package: "GtkWebImage")

let package = Package(
    name: "Photos",
    dependencies: [.package(name: "GtkWebImage", path: "../../..")],
    targets: [
        .systemLibrary(name: "CGtk4", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .target(name: "PhotosUI", dependencies: images),
        .executableTarget(name: "Photos", dependencies: ["PhotosUI"] + images),
        .executableTarget(name: "PhotosScenario", dependencies: ["PhotosUI", testing] + images),
        .testTarget(name: "PhotosTests", dependencies: ["PhotosScenario", testing]),
    ]
)
