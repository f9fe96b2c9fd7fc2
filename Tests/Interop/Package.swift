// swift-tools-version: 6.0

import PackageDescription

// Apps as users of other GTK bindings write them: with classes that have the shape, the names and the isolation of four bindings
// and come from a package of their own, with a C module of GTK that is not the library's, and in both language modes of Swift.
// InteropTests builds and runs them.
let dependencies: [Target.Dependency] = [
    .product(name: "StandIns", package: "StandIns"), .product(name: "CGtk4", package: "StandIns"),
    .product(name: "GtkWebImage", package: "GtkWebImage"),
]

let package = Package(
    name: "Interop",
    dependencies: [
        .package(name: "GtkWebImage", path: "../.."), .package(path: "StandIns"), .package(path: "Declarative"),
    ],
    targets: [
        .executableTarget(
            name: "Swift5App",
            dependencies: dependencies,
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .executableTarget(name: "Swift6App", dependencies: dependencies),
        // The sample views of Demo/Examples, through links to their folders.
        .target(
            name: "SwiftCrossUIView",
            dependencies: [
                .product(name: "SwiftCrossUI", package: "Declarative"),
                .product(name: "GtkWebImage", package: "GtkWebImage"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .target(
            name: "AdwaitaView",
            dependencies: [
                .product(name: "Adwaita", package: "Declarative"),
                .product(name: "GtkWebImage", package: "GtkWebImage"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .executableTarget(
            name: "DeclarativeApp",
            dependencies: dependencies + ["SwiftCrossUIView", "AdwaitaView"],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
    ]
)

// What users write by mistake, to see what the compiler says to it.
if Context.environment["INTEROP_MISTAKES"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Mistakes",
            dependencies: dependencies + [.product(name: "GtkWebImageInspector", package: "GtkWebImage")]
        )
    )
}
