internal import CWebImageGLib
import Glibc

/// The functions of poppler-glib and cairo that draw a page.
///
/// They are looked up when the first PDF is decoded. So this module links neither library, and apps without PDFs need not install
/// them.
///
/// `@unchecked`: any thread may call the functions with a separate document.
struct PopplerLibrary: @unchecked Sendable {
    typealias MakeDocument =
        @convention(c) (
            OpaquePointer, UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?
        ) -> UnsafeMutableRawPointer?
    typealias CountPages = @convention(c) (UnsafeMutableRawPointer) -> Int32
    typealias Page = @convention(c) (UnsafeMutableRawPointer, Int32) -> UnsafeMutableRawPointer?
    typealias PageSize =
        @convention(c) (UnsafeMutableRawPointer, UnsafeMutablePointer<Double>, UnsafeMutablePointer<Double>) -> Void
    typealias Render = @convention(c) (UnsafeMutableRawPointer, OpaquePointer) -> Void
    typealias MakeSurface =
        @convention(c) (UnsafeMutablePointer<UInt8>, Int32, Int32, Int32, Int32) -> OpaquePointer?
    typealias MakeContext = @convention(c) (OpaquePointer) -> OpaquePointer?
    typealias Do = @convention(c) (OpaquePointer) -> Void
    typealias Status = @convention(c) (OpaquePointer) -> Int32
    typealias Scale = @convention(c) (OpaquePointer, Double, Double) -> Void

    let makeDocument: MakeDocument
    let countPages: CountPages
    let page: Page
    let pageSize: PageSize
    let render: Render
    let makeSurface: MakeSurface
    let makeContext: MakeContext
    let scale: Scale
    let finish: Do
    let contextStatus: Status
    let surfaceStatus: Status
    let freeContext: Do
    let freeSurface: Do

    /// The functions; `nil` if a library is not installed.
    static let installed = PopplerLibrary()

    private init?() {
        guard let poppler = dlopen("libpoppler-glib.so.8", RTLD_NOW | RTLD_LOCAL),
            let cairo = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL),
            let makeDocument = dlsym(poppler, "poppler_document_new_from_bytes"),
            let countPages = dlsym(poppler, "poppler_document_get_n_pages"),
            let page = dlsym(poppler, "poppler_document_get_page"),
            let pageSize = dlsym(poppler, "poppler_page_get_size"),
            let render = dlsym(poppler, "poppler_page_render"),
            let makeSurface = dlsym(cairo, "cairo_image_surface_create_for_data"),
            let makeContext = dlsym(cairo, "cairo_create"),
            let scale = dlsym(cairo, "cairo_scale"),
            let finish = dlsym(cairo, "cairo_surface_finish"),
            let contextStatus = dlsym(cairo, "cairo_status"),
            let surfaceStatus = dlsym(cairo, "cairo_surface_status"),
            let freeContext = dlsym(cairo, "cairo_destroy"),
            let freeSurface = dlsym(cairo, "cairo_surface_destroy")
        else { return nil }
        self.makeDocument = unsafeBitCast(makeDocument, to: MakeDocument.self)
        self.countPages = unsafeBitCast(countPages, to: CountPages.self)
        self.page = unsafeBitCast(page, to: Page.self)
        self.pageSize = unsafeBitCast(pageSize, to: PageSize.self)
        self.render = unsafeBitCast(render, to: Render.self)
        self.makeSurface = unsafeBitCast(makeSurface, to: MakeSurface.self)
        self.makeContext = unsafeBitCast(makeContext, to: MakeContext.self)
        self.scale = unsafeBitCast(scale, to: Scale.self)
        self.finish = unsafeBitCast(finish, to: Do.self)
        self.contextStatus = unsafeBitCast(contextStatus, to: Status.self)
        self.surfaceStatus = unsafeBitCast(surfaceStatus, to: Status.self)
        self.freeContext = unsafeBitCast(freeContext, to: Do.self)
        self.freeSurface = unsafeBitCast(freeSurface, to: Do.self)
    }
}
