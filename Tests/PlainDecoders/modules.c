#include "PlainDecoders.h"

#include <dlfcn.h>
#include <glib-object.h>
#include <stdlib.h>

// Libraries that are found at run time, as by the library. What is declared of them is all that a plain decoder needs.

#define FIND(library, result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))dlsym(library, #name)

typedef struct { int code, subcode; const char *message; } heif_error;

bool plain_heif(const uint8_t *data, size_t count, int width, int height) {
    void *library = dlopen("libheif.so.1", RTLD_NOW);
    if (!library) return false;
    FIND(library, void *, heif_context_alloc, void);
    FIND(library, heif_error, heif_context_read_from_memory_without_copy, void *, const void *, size_t, const void *);
    FIND(library, heif_error, heif_context_get_primary_image_handle, void *, void **);
    FIND(library, heif_error, heif_decode_image, const void *, void **, int, int, const void *);
    FIND(library, void, heif_image_release, const void *);
    FIND(library, void, heif_image_handle_release, const void *);
    FIND(library, void, heif_context_free, void *);
    void *context = heif_context_alloc(), *handle = NULL, *image = NULL;
    // heif_colorspace_RGB and heif_chroma_interleaved_RGB
    bool is_read = heif_context_read_from_memory_without_copy(context, data, count, NULL).code == 0
        && heif_context_get_primary_image_handle(context, &handle).code == 0
        && heif_decode_image(handle, &image, 1, 10, NULL).code == 0;
    if (image) heif_image_release(image);
    if (handle) heif_image_handle_release(handle);
    heif_context_free(context);
    return is_read;
}

static void *jxl_library(void) {
    for (int minor = 20; minor >= 7; minor--) {
        char name[] = "libjxl.so.0.00";
        int length = minor < 10 ? 1 : 2;
        name[12] = '0' + (length == 1 ? minor : minor / 10);
        name[13] = length == 1 ? 0 : '0' + minor % 10;
        void *library = dlopen(name, RTLD_NOW);
        if (library) return library;
    }
    return NULL;
}

bool plain_jxl(const uint8_t *data, size_t count, int width, int height) {
    void *library = jxl_library();
    if (!library) return false;
    typedef struct { uint32_t channels; int type, endianness; size_t align; } JxlPixelFormat;
    FIND(library, void *, JxlDecoderCreate, const void *);
    FIND(library, int, JxlDecoderSubscribeEvents, void *, int);
    FIND(library, int, JxlDecoderSetInput, void *, const uint8_t *, size_t);
    FIND(library, int, JxlDecoderProcessInput, void *);
    FIND(library, int, JxlDecoderImageOutBufferSize, const void *, const JxlPixelFormat *, size_t *);
    FIND(library, int, JxlDecoderSetImageOutBuffer, void *, const JxlPixelFormat *, void *, size_t);
    FIND(library, void, JxlDecoderDestroy, void *);
    enum { FULL_IMAGE = 0x1000, NEEDS_TARGET = 5, UINT8 = 2 };
    JxlPixelFormat format = {3, UINT8, 0, 0};
    void *decoder = JxlDecoderCreate(NULL), *pixels = NULL;
    JxlDecoderSubscribeEvents(decoder, FULL_IMAGE);
    JxlDecoderSetInput(decoder, data, count);
    int status;
    while ((status = JxlDecoderProcessInput(decoder)) == NEEDS_TARGET && !pixels) {
        size_t size;
        JxlDecoderImageOutBufferSize(decoder, &format, &size);
        pixels = malloc(size);
        JxlDecoderSetImageOutBuffer(decoder, &format, pixels, size);
    }
    JxlDecoderDestroy(decoder);
    free(pixels);
    return status == FULL_IMAGE;
}

bool plain_svg(const uint8_t *data, size_t count, int width, int height) {
    void *library = dlopen("librsvg-2.so.2", RTLD_NOW), *cairo = dlopen("libcairo.so.2", RTLD_NOW);
    if (!library || !cairo) return false;
    typedef struct { double x, y, width, height; } RsvgRectangle;
    FIND(library, void *, rsvg_handle_new_from_data, const uint8_t *, size_t, GError **);
    FIND(library, gboolean, rsvg_handle_get_intrinsic_size_in_pixels, void *, double *, double *);
    FIND(library, gboolean, rsvg_handle_render_document, void *, void *, const RsvgRectangle *, GError **);
    FIND(cairo, void *, cairo_image_surface_create, int, int, int);
    FIND(cairo, void *, cairo_create, void *);
    FIND(cairo, void, cairo_destroy, void *);
    FIND(cairo, void, cairo_surface_destroy, void *);
    void *drawing = rsvg_handle_new_from_data(data, count, NULL);
    RsvgRectangle all = {0, 0, width, height};
    if (!drawing || (!width && !rsvg_handle_get_intrinsic_size_in_pixels(drawing, &all.width, &all.height))) return false;
    // CAIRO_FORMAT_ARGB32
    void *surface = cairo_image_surface_create(0, (int)all.width, (int)all.height), *context = cairo_create(surface);
    bool is_drawn = rsvg_handle_render_document(drawing, context, &all, NULL);
    cairo_destroy(context);
    cairo_surface_destroy(surface);
    g_object_unref(drawing);
    return is_drawn;
}
