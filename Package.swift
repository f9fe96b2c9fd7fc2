// swift-tools-version: 6.0

import PackageDescription

// THREAD_SANITIZER=1 swift test --sanitize=thread: see Sources/WebImageCore/System/SanitizerMutex.swift.
let isSanitizingThreads = Context.environment["THREAD_SANITIZER"] != nil

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    isSanitizingThreads ? .define("THREAD_SANITIZER") : .enableUpcomingFeature("MemberImportVisibility"),
]

// Tests/run optimizes the library in debug builds, in which generic code over pixels would take most of the time. Assertions stay.
let isOptimizing = Context.environment["GWI_OPTIMIZE_DEBUG"] == "1" && !isSanitizingThreads

let library =
    strict
    + (isOptimizing ? [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))] : [])

/// A C library that pkg-config finds. Its shim.h says why the library is there. Fedora names packages by pkg-config modules.
func cLibrary(_ name: String, pkgConfig: String, debian: String) -> Target {
    .systemLibrary(
        name: name,
        path: "Sources/CLibraries/\(name)",
        pkgConfig: pkgConfig,
        providers: [.apt([debian]), .yum(["pkgconfig(\(pkgConfig))"])]
    )
}

/// A program of Demo/Examples.
func example(
    _ name: String,
    at folder: String,
    _ dependencies: [Target.Dependency],
    exclude: [String] = [],
    resources: [Resource]? = nil
) -> Target {
    .executableTarget(
        name: "example-\(name)",
        dependencies: ["GtkWebImage"] + dependencies,
        path: "Demo/Examples/\(folder)",
        exclude: exclude,
        resources: resources,
        swiftSettings: strict
    )
}

let package = Package(
    name: "GtkWebImage",
    products: [
        .library(name: "GtkWebImage", targets: ["GtkWebImage"]),
        .library(name: "GtkWebImageWidgets", targets: ["GtkWebImageWidgets"]),
        .library(name: "GtkWebImageBuilder", targets: ["GtkWebImageBuilder"]),
        .library(name: "GtkWebImageZoom", targets: ["GtkWebImageZoom"]),
        .library(name: "GtkWebImageInspector", targets: ["GtkWebImageInspector"]),
        .library(name: "WebImageServices", targets: ["WebImageServices"]),
        .library(name: "WebImageDesktop", targets: ["WebImageDesktop"]),
        .library(name: "WebImagePDF", targets: ["WebImagePDF"]),
        .library(name: "WebImageCore", targets: ["WebImageCore"]),
        .library(name: "WebImageTesting", targets: ["WebImageTesting"]),
        // For apps that install a program for their decode workers; the others decode in their own program.
        .executable(name: "webimage-decoder", targets: ["webimage-decoder"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        // The library, from the nouns up to the widgets.
        .target(
            name: "WebImageCore",
            dependencies: [.product(name: "Logging", package: "swift-log")],
            swiftSettings: library
        ),
        // Runs decoders in processes without rights. It knows none of them: WebImageLinux hands it those of the library.
        .target(
            name: "WebImageSandbox",
            dependencies: ["WebImageCore", "CWebImageSandboxShims"],
            swiftSettings: library
        ),
        // Decoders and encoders. They know neither the network nor the main loop, so that a worker is little more than they are.
        .target(
            name: "WebImageFormats",
            dependencies: [
                "WebImageCore", "CWebImageGLib", "CWebImagePixbuf", "CWebImageWebP", "CWebImageDeflate",
                "CWebImageZstd", "CWebImageLCMS", "CWebImageShims",
            ],
            swiftSettings: library
        ),
        // Decoders whose libraries are found at run time.
        .target(
            name: "WebImageCodecs",
            dependencies: ["WebImageCore", "WebImageFormats", "CWebImageCodecShims"],
            swiftSettings: library
        ),
        .target(
            name: "WebImageLinux",
            dependencies: [
                "WebImageCore", "WebImageFormats", "WebImageCodecs", "WebImageSandbox", "CWebImageGLib",
                "CWebImagePixbuf",
                "CWebImageCurl", "CWebImageDeflate", "CWebImageShims", "CWebImageSandboxShims",
            ],
            swiftSettings: library
        ),
        .target(
            name: "GtkWebImage",
            dependencies: [
                "WebImageCore", "WebImageFormats", "WebImageLinux", "WebImageSandbox", "CWebImageGtk4",
                "CWebImageGtkShims",
            ],
            swiftSettings: library
        ),
        // Wrappers for apps without a GTK binding. Their names are those of every binding, hence a product of their own.
        .target(
            name: "GtkWebImageWidgets",
            dependencies: ["GtkWebImage", "WebImageLinux", "CWebImageGtk4"],
            swiftSettings: library
        ),
        // A widget for the files of GtkBuilder.
        .target(
            name: "GtkWebImageBuilder",
            dependencies: ["GtkWebImage", "WebImageCore", "WebImageLinux", "CWebImageGtk4", "CWebImageBuilderShims"],
            swiftSettings: library
        ),
        // What an app imports beside GtkWebImage where it needs it, and what is in no other program.
        .target(
            name: "WebImageServices",
            dependencies: ["WebImageCore", "WebImageLinux", "CWebImageGLib"],
            swiftSettings: library
        ),
        .target(
            name: "WebImageDesktop",
            dependencies: [
                "GtkWebImage", "WebImageCore", "WebImageFormats", "WebImageLinux", "CWebImageGLib", "CWebImageGtk4",
                "CWebImageDeflate", "CWebImageShims",
            ],
            swiftSettings: library
        ),
        .target(
            name: "WebImagePDF",
            dependencies: ["WebImageCore", "WebImageFormats", "WebImageLinux", "CWebImageGLib"],
            swiftSettings: library
        ),
        // Large images: the view that zooms into them, and the regions that it decodes.
        .target(
            name: "GtkWebImageZoom",
            dependencies: ["GtkWebImage", "WebImageCore", "WebImageLinux", "CWebImageGtk4", "CWebImageGtkShims"],
            swiftSettings: library
        ),
        // Shows the loads of an app while it runs, for debug builds.
        .target(
            name: "GtkWebImageInspector",
            dependencies: [
                "GtkWebImage", "WebImageCore", "WebImageDesktop", "WebImageLinux", "CWebImageGtk4", "CWebImageGtkShims",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "webimage-decoder",
            dependencies: ["WebImageLinux"],
            path: "Sources/WebImageDecoder",
            swiftSettings: library
        ),
        .target(
            name: "WebImageTesting",
            dependencies: [
                "WebImageCore", "WebImageFormats", "WebImageLinux", "CWebImageShims", "CWebImageGLib",
                "CWebImagePixbuf", "CWebImageDeflate",
            ],
            swiftSettings: library
        ),

        .target(name: "CWebImageSandboxShims", path: "Sources/CLibraries/CWebImageSandboxShims"),
        .target(name: "CWebImageCodecShims", path: "Sources/CLibraries/CWebImageCodecShims"),
        // The C libraries, and the functions of theirs that Swift cannot call. WebImageCore uses none of them.
        .target(
            name: "CWebImageShims",
            dependencies: [
                "CWebImageGLib", "CWebImagePixbuf", "CWebImageCurl", "CWebImageJPEG", "CWebImagePNG", "CWebImageTIFF",
                "CWebImageDeflate",
            ],
            path: "Sources/CLibraries/CWebImageShims"
        ),
        .target(
            name: "CWebImageGtkShims",
            dependencies: ["CWebImageGtk4"],
            path: "Sources/CLibraries/CWebImageGtkShims"
        ),
        .target(
            name: "CWebImageBuilderShims",
            dependencies: ["CWebImageGtk4"],
            path: "Sources/CLibraries/CWebImageBuilderShims"
        ),
        cLibrary("CWebImageGLib", pkgConfig: "gio-unix-2.0", debian: "libglib2.0-dev"),
        cLibrary("CWebImagePixbuf", pkgConfig: "gdk-pixbuf-2.0", debian: "libgdk-pixbuf-2.0-dev"),
        cLibrary("CWebImageCurl", pkgConfig: "libcurl", debian: "libcurl4-openssl-dev"),
        cLibrary("CWebImageWebP", pkgConfig: "libwebpdemux", debian: "libwebp-dev"),
        cLibrary("CWebImageZstd", pkgConfig: "libzstd", debian: "libzstd-dev"),
        cLibrary("CWebImageLCMS", pkgConfig: "lcms2", debian: "liblcms2-dev"),
        cLibrary("CWebImageJPEG", pkgConfig: "libjpeg", debian: "libjpeg-dev"),
        cLibrary("CWebImagePNG", pkgConfig: "libpng", debian: "libpng-dev"),
        cLibrary("CWebImageTIFF", pkgConfig: "libtiff-4", debian: "libtiff-dev"),
        cLibrary("CWebImageDeflate", pkgConfig: "libdeflate", debian: "libdeflate-dev"),
        cLibrary("CWebImageGtk4", pkgConfig: "gtk4", debian: "libgtk-4-dev"),
        // Only for the gallery.
        cLibrary("CWebImageAdwaita", pkgConfig: "libadwaita-1", debian: "libadwaita-1-dev"),

        // The demo. SwiftPM builds these programs here and does not offer them to packages that depend on this one.
        .executableTarget(
            name: "webimage-gallery",
            dependencies: [
                "GtkWebImage", "GtkWebImageBuilder", "GtkWebImageWidgets", "GtkWebImageZoom", "GtkWebImageInspector",
                "WebImageLinux", "WebImageServices", "WebImageDesktop", "WebImageTesting", "CWebImageAdwaita",
                "CWebImageGtk4", "CWebImageGtkShims", "CWebImageSandboxShims",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Demo/Gallery",
            swiftSettings: strict
        ),
        example("viewer", at: "Viewer", ["GtkWebImageWidgets", "CWebImageGtk4"]),
        // The app of the page GettingStarted, which has a manifest and a C module of its own.
        example("first-app", at: "FirstApp/Sources/FirstApp", ["GtkWebImageWidgets", "CGtk4"]),
        .systemLibrary(name: "CGtk4", path: "Demo/Examples/FirstApp/Sources/CGtk4", pkgConfig: "gtk4"),
        // The app of the page Testing, a package of its own, too, with its tests.
        .target(
            name: "PhotosUI",
            dependencies: ["GtkWebImage", "GtkWebImageWidgets", "CGtk4"],
            path: "Demo/Examples/TestedApp/Sources/PhotosUI"
        ),
        .executableTarget(
            name: "Photos",
            dependencies: ["PhotosUI", "CGtk4"],
            path: "Demo/Examples/TestedApp/Sources/Photos"
        ),
        .executableTarget(
            name: "PhotosScenario",
            dependencies: ["PhotosUI", "GtkWebImage", "WebImageTesting", "CGtk4"],
            path: "Demo/Examples/TestedApp/Sources/PhotosScenario"
        ),
        .testTarget(
            name: "PhotosTests",
            dependencies: ["PhotosScenario", "WebImageTesting"],
            path: "Demo/Examples/TestedApp/Tests/PhotosTests"
        ),
        example("list", at: "List", ["CWebImageGtk4"]),
        example("pointers", at: "Pointers", ["CWebImageGtk4"]),
        // Apps whose windows are files of GtkBuilder, which SwiftPM puts into the programs.
        example("ui-file", at: "UIFile", ["GtkWebImageBuilder", "CGtk4"], resources: [.embedInCode("window.ui")]),
        example(
            "blueprint",
            at: "Blueprint",
            ["GtkWebImageBuilder", "CGtk4"],
            exclude: ["window.blp"],
            resources: [.embedInCode("window.ui")]
        ),
        // Apps ported from other libraries, each line below its original; PortedTable does what UIKit did for them.
        .target(
            name: "PortedTable",
            dependencies: ["GtkWebImage", "GtkWebImageWidgets", "WebImageLinux", "WebImageTesting", "CWebImageGtk4"],
            path: "Demo/Examples/Ported/Table",
            swiftSettings: strict
        ),
        example(
            "from-sdwebimage",
            at: "Ported/FromSDWebImage",
            ["PortedTable", "GtkWebImageWidgets", "CWebImageGtk4"]
        ),
        example("from-nuke", at: "Ported/FromNuke", ["PortedTable", "GtkWebImageWidgets", "CWebImageGtk4"]),
        example(
            "from-kingfisher",
            at: "Ported/FromKingfisher",
            ["PortedTable", "GtkWebImageWidgets", "CWebImageGtk4"]
        ),

        // The tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "WebImageCore", "WebImageLinux", "WebImageTesting", "CWebImageGLib", "CWebImageLCMS",
            ],
            path: "Tests/Support",
            swiftSettings: library
        ),
        .target(name: "TestTraits", dependencies: ["WebImageCore"], path: "Tests/Traits", swiftSettings: strict),
        .testTarget(
            name: "CoreTests",
            dependencies: [
                "WebImageCore", "WebImageFormats", "WebImageLinux", "WebImageTesting", "TestSupport", "TestTraits",
                "CacheWorker",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "LinuxTests",
            dependencies: [
                "WebImageCore", "WebImageFormats", "WebImageCodecs", "WebImageLinux", "WebImageSandbox",
                "WebImageServices", "WebImageDesktop", "WebImagePDF", "WebImageTesting", "TestSupport", "TestTraits",
                "CWebImageCurl", "CWebImageDeflate", "CWebImageGLib",
                "CWebImageShims", "CWebImageSandboxShims", "CHostileCalls", "DecodeWorker", "SandboxedApp",
                "webimage-decoder",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "CacheWorker",
            dependencies: ["WebImageCore", "WebImageLinux"],
            path: "Tests/CacheWorker",
            swiftSettings: strict
        ),
        // What the decoder that is taken over needs of C.
        .target(name: "CHostileCalls", path: "Tests/HostileCalls"),
        // What NetworkWorker needs of C.
        .target(name: "CWorkerShims", path: "Tests/WorkerShims"),
        .executableTarget(
            name: "NetworkWorker",
            dependencies: ["WebImageCore", "WebImageLinux", "TestSupport", "CWorkerShims"],
            path: "Tests/NetworkWorker",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "DecodeWorker",
            dependencies: ["WebImageCore", "WebImageLinux"],
            path: "Tests/DecodeWorker",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "SandboxedApp",
            dependencies: ["WebImageCore", "WebImageLinux", "WebImageSandbox", "CHostileCalls"],
            path: "Tests/SandboxedApp",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ZoomTests",
            dependencies: [
                "GtkWebImageZoom", "WebImageCore", "WebImageFormats", "WebImageLinux", "WebImageTesting", "TestSupport",
                "ZoomWorker",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ZoomWorker",
            dependencies: ["GtkWebImageZoom", "WebImageCore", "WebImageLinux"],
            path: "Tests/ZoomWorker",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "AllocationWorker",
            dependencies: [
                "GtkWebImage", "GtkWebImageWidgets", "WebImageTesting", "TestSupport", "CAllocationCounter",
                "CWebImageGtk4",
            ],
            path: "Tests/AllocationWorker",
            swiftSettings: strict
        ),
        // Classes with the names of the GTK bindings; NameScenarios imports it beside the library.
        .target(
            name: "ForeignBinding",
            dependencies: ["CWebImageGtk4"],
            path: "Tests/ForeignBinding",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "WidgetScenarios",
            dependencies: [
                "GtkWebImage", "GtkWebImageWidgets", "GtkWebImageBuilder", "GtkWebImageZoom", "GtkWebImageInspector",
                "WebImageServices", "WebImageDesktop", "WebImagePDF", "ForeignBinding", "WebImageTesting",
                "TestSupport", "CWebImageGtk4", "CWebImageGtkShims",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/WidgetScenarios",
            swiftSettings: strict
        ),
        .testTarget(
            name: "WidgetTests",
            dependencies: [
                "WebImageCore", "WebImageFormats", "WebImageLinux", "WebImageTesting", "TestSupport", "TestTraits",
                "WidgetScenarios",
                "webimage-gallery", "example-viewer", "example-list", "example-pointers", "example-first-app",
                "example-ui-file", "example-blueprint",
                "example-from-sdwebimage", "example-from-nuke", "example-from-kingfisher", "Swift5App", "Swift6App",
                "DeclarativeApp",
                // Not AllocationWorker, which the tests start all the same: a dependency is linked into the tests, whose
                // malloc it would replace.
            ],
            swiftSettings: strict
        ),
        .target(name: "CAllocationCounter", path: "Tests/AllocationCounter"),
    ],
    swiftLanguageModes: [.v6]
)

// Apps as users of other GTK bindings write them: with classes that have the shape, the names and the isolation of four bindings, with
// a C module of GTK that is not the library's, and in both language modes of Swift. They see the public API alone. InteropTests runs
// them, and the compiler over Tests/Interop/Mistakes.
func client(_ name: String, _ dependencies: [Target.Dependency], at path: String? = nil) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        path: path ?? "Tests/Interop/\(name)",
        packageAccess: false,
        swiftSettings: [.swiftLanguageMode(.v5)]
    )
}

func clientApp(_ name: String, _ dependencies: [Target.Dependency], mode: SwiftLanguageMode) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["StandIns", "CGtk4", "GtkWebImage"] + dependencies,
        path: "Tests/Interop/\(name)",
        packageAccess: false,
        swiftSettings: [.swiftLanguageMode(mode)]
    )
}

package.targets += [
    client("StandIns", ["CGtk4"]),
    // What the sample views of Demo/Examples see of SwiftCrossUI and of Adwaita for Swift, with the names of their modules.
    client("SwiftCrossUI", []),
    client("Gtk", ["CGtk4"]),
    client("GtkBackend", ["Gtk", "SwiftCrossUI"]),
    client("Adwaita", ["CGtk4"]),
    client(
        "SwiftCrossUIView",
        ["SwiftCrossUI", "Gtk", "GtkBackend", "GtkWebImage"],
        at: "Demo/Examples/SwiftCrossUIView/Sources/SwiftCrossUIView"
    ),
    client("AdwaitaView", ["Adwaita", "GtkWebImage"], at: "Demo/Examples/AdwaitaView/Sources/AdwaitaView"),
    clientApp("Swift5App", [], mode: .v5),
    clientApp("Swift6App", [], mode: .v6),
    clientApp("DeclarativeApp", ["SwiftCrossUIView", "AdwaitaView", "GtkBackend"], mode: .v5),
]

// Tests/bench, so that the tests are built without it.
if Context.environment["BENCHMARKS"] != nil {
    package.targets += [
        .target(
            name: "CPlainDecoders",
            dependencies: ["CWebImageGtk4", "CWebImagePixbuf", "CWebImageJPEG", "CWebImagePNG", "CWebImageWebP"],
            path: "Tests/PlainDecoders"
        ),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "GtkWebImage", "GtkWebImageWidgets", "WebImageTesting", "TestSupport", "CAllocationCounter",
                "CPlainDecoders", "WidgetScenarios", "CWebImageGtk4",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Benchmarks",
            swiftSettings: strict
        ),
    ]
}

// Tests/storm.
if Context.environment["STORM"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Storm",
            dependencies: ["WebImageCore", "WebImageLinux", "WebImageSandbox", "WebImageTesting", "TestSupport"],
            path: "Tests/Storm",
            swiftSettings: strict
        )
    )
}

// Tests/fuzz, for there is no libFuzzer to link with otherwise.
if Context.environment["FUZZING"] != nil {
    package.targets.append(
        .executableTarget(
            name: "DecodeFuzzer",
            dependencies: [
                "WebImageCore", "WebImageFormats", "WebImageLinux", "WebImageSandbox", "CWebImageDeflate",
                "CWebImageShims",
            ],
            path: "Tests/DecodeFuzzer",
            exclude: ["leaks"],
            swiftSettings: strict
        )
    )
    package.targets.append(
        .executableTarget(
            name: "HeadFuzzer",
            dependencies: ["WebImageCore", "WebImageLinux", "WebImageTesting"],
            path: "Tests/HeadFuzzer",
            exclude: ["seeds"],
            swiftSettings: strict
        )
    )
}
