import CPlainDecoders
import Foundation
import TestSupport
import WebImageCore
import WebImageFormats
import WebImageTesting

extension Decoding {
    /// A file of a format whose library is found at run time.
    struct ModuleFile {
        let name: String
        let data: Data
        let plain: Plain
    }

    /// The photograph of the other rows in AVIF, HEIC and JPEG XL, and a drawing of the same size.
    /// - Parameter folder: The folder with photo.png.
    func moduleFiles(_ folder: String) throws -> [ModuleFile] {
        func made(_ name: String, _ program: String, _ arguments: [String]) throws -> Data {
            let result = try ChildProcess.run(program, arguments, seconds: 300)
            precondition(result.exitCode == 0, result.output)
            return try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
        }
        func heif(_ name: String, _ options: [String]) throws -> Data {
            try made(name, "heif-enc", options + ["-q", "70", "\(folder)/photo.png", "-o", "\(folder)/\(name)"])
        }
        func jxl(_ name: String, _ options: [String]) throws -> Data {
            try made(name, "cjxl", options + ["\(folder)/photo.png", "\(folder)/\(name)"])
        }
        return [
            ModuleFile(name: "AVIF", data: try heif("a.avif", ["-A", "-p", "speed=8"]), plain: plain_heif),
            ModuleFile(name: "HEIC", data: try heif("a.heic", []), plain: plain_heif),
            ModuleFile(name: "JPEG XL", data: try jxl("a.jxl", ["-d", "1"]), plain: plain_jxl),
            ModuleFile(name: "lossless JPEG XL", data: try jxl("b.jxl", ["-d", "0", "-e", "3"]), plain: plain_jxl),
            ModuleFile(name: "SVG", data: Self.drawing, plain: plain_svg),
        ]
    }

    /// Compares with the plain call of the library, and with gdk-pixbuf if that has a loader.
    func compare(_ file: ModuleFile, _ size: PixelSize?, _ coders: CoderRegistry) throws {
        try compare(file.name, file.data, size, coders, file.plain, atMost: 1.1)
        guard PixbufCoder().canDecode(ImageFormat(sniffing: file.data)) else { return }
        try compare(
            "\(file.name), gdk-pixbuf",
            file.data,
            size,
            coders,
            { plain_pixbuf($0, $1, $2, $3, 0) },
            atMost: 1.1
        )
    }

    /// A drawing of 1600x1200 with curves, gradients and text, like those of maps and diagrams.
    private static let drawing: Data = {
        let shapes = (0..<400).map { index in
            let (x, y) = (index % 20 * 80, index / 20 * 60)
            let color = String(index * 9973 % 0xFFFFFF, radix: 16)
            return """
                <path d="M\(x) \(y)c20 40 60 -20 70 30s-50 20 -60 10z" fill="#\(String(repeating: "0", count: 6 - color.count))\(color)"/>\
                <circle cx="\(x + 40)" cy="\(y + 30)" r="20" fill="url(#g)" stroke="#333" stroke-width="2"/>\
                <text x="\(x + 5)" y="\(y + 50)" font-size="12">\(index)</text>
                """
        }
        let gradient =
            "<radialGradient id='g'><stop stop-color='#fff'/><stop offset='1' stop-color='#06c'/></radialGradient>"
        return Data(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="1600" height="1200"><defs>\(gradient)</defs>\
            <rect width="1600" height="1200" fill="#eee"/>\(shapes.joined())</svg>
            """.utf8
        )
    }()
}
