#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "CWebImageCodecShims.h"

// What glib.h, librsvg/rsvg.h and cairo.h declare.
typedef struct { uint32_t domain; int code; char *message; } GError;
typedef struct { double length; int unit; } RsvgLength;
typedef struct { double x, y, width, height; } RsvgRectangle;
enum { FORMAT_ARGB32 = 0 };

#define RSVG_FUNCTIONS(F) \
    F(void *, rsvg_handle_new_from_data, (const void *, size_t, GError **)) F(void, rsvg_handle_set_dpi, (void *, double)) \
    F(int, rsvg_handle_get_intrinsic_size_in_pixels, (void *, double *, double *)) \
    F(void, rsvg_handle_get_intrinsic_dimensions, \
      (void *, int *, RsvgLength *, int *, RsvgLength *, int *, RsvgRectangle *)) \
    F(int, rsvg_handle_get_geometry_for_element, (void *, const char *, RsvgRectangle *, RsvgRectangle *, GError **)) \
    F(int, rsvg_handle_render_document, (void *, void *, const RsvgRectangle *, GError **))
#define CAIRO_FUNCTIONS(F) \
    F(void *, cairo_image_surface_create_for_data, (void *, int, int, int, int)) F(int, cairo_surface_status, (void *)) \
    F(void, cairo_surface_finish, (void *)) F(void, cairo_surface_destroy, (void *)) F(void *, cairo_create, (void *)) \
    F(void, cairo_scale, (void *, double, double)) F(int, cairo_status, (void *)) F(void, cairo_destroy, (void *))

#define DECLARE(result, name, arguments) result (*name) arguments;
static struct {
    bool is_loaded;
    RSVG_FUNCTIONS(DECLARE) CAIRO_FUNCTIONS(DECLARE)
    void (*g_object_unref)(void *);
    void (*g_error_free)(GError *);
} svg_;
#define FIND(result, name, arguments) svg_.name = (result (*) arguments)dlsym(library, #name);
#define IS_FOUND(result, name, arguments) && svg_.name

static void load(void) {
    void *library = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    RSVG_FUNCTIONS(FIND)
    // librsvg links both, and the search goes through what a library links.
    CAIRO_FUNCTIONS(FIND)
    svg_.g_object_unref = (void (*)(void *))dlsym(library, "g_object_unref");
    svg_.g_error_free = (void (*)(GError *))dlsym(library, "g_error_free");
    svg_.is_loaded = svg_.g_object_unref && svg_.g_error_free RSVG_FUNCTIONS(IS_FOUND) CAIRO_FUNCTIONS(IS_FOUND);
}

bool gwi_svg_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return svg_.is_loaded;
}

struct gwi_svg {
    void *handle;
    double width, height;
    char message[200];
};

static void keep(gwi_svg *svg, GError *error) {
    snprintf(svg->message, sizeof svg->message, "%s", error ? error->message : "no cause is known");
    if (error) svg_.g_error_free(error);
}

gwi_svg *gwi_svg_new(const void *bytes, size_t count) {
    gwi_svg *svg = calloc(1, sizeof *svg);
    if (!svg) return NULL;
    GError *error = NULL;
    // A handle without a base file resolves no reference but those of data URLs.
    svg->handle = svg_.rsvg_handle_new_from_data(bytes, count, &error);
    if (!svg->handle) keep(svg, error);
    // CSS has 96 pixels in an inch.
    else svg_.rsvg_handle_set_dpi(svg->handle, 96);
    return svg;
}

void gwi_svg_free(gwi_svg *svg) {
    if (svg->handle) svg_.g_object_unref(svg->handle);
    free(svg);
}

const char *gwi_svg_message(const gwi_svg *svg) { return svg->message; }

// A length in pixels; 0 for a percentage.
static double pixels(RsvgLength length) {
    // Of percent, px, em, ex, in, cm, mm, pt and pc.
    static const double units[] = { 0, 1, 16, 8, 96, 96 / 2.54, 96 / 25.4, 96 / 72.0, 16 };
    return length.unit > 0 && length.unit < 9 ? length.length * units[length.unit] : 0;
}

bool gwi_svg_size(gwi_svg *svg, double *width, double *height) {
    if (!svg->handle) return false;
    if (!svg_.rsvg_handle_get_intrinsic_size_in_pixels(svg->handle, &svg->width, &svg->height)) {
        int has_width = 0, has_height = 0, has_box = 0;
        RsvgLength across = { 0 }, down = { 0 };
        RsvgRectangle box = { 0 };
        svg_.rsvg_handle_get_intrinsic_dimensions(svg->handle, &has_width, &across, &has_height, &down, &has_box, &box);
        svg->width = has_width ? pixels(across) : 0;
        svg->height = has_height ? pixels(down) : 0;
        if (has_box && box.width > 0 && box.height > 0) {
            // As in CSS, the box has the aspect ratio of a drawing with one side, and the size of a drawing without.
            if (svg->width > 0) svg->height = svg->width * box.height / box.width;
            else if (svg->height > 0) svg->width = svg->height * box.width / box.height;
            else svg->width = box.width, svg->height = box.height;
        } else {
            GError *error = NULL;
            if (!svg_.rsvg_handle_get_geometry_for_element(svg->handle, NULL, &box, NULL, &error)) {
                keep(svg, error);
                return false;
            }
            svg->width = box.x + box.width;
            svg->height = box.y + box.height;
        }
    }
    *width = svg->width;
    *height = svg->height;
    return true;
}

bool gwi_svg_draw(gwi_svg *svg, void *memory, int width, int height) {
    void *surface = svg_.cairo_image_surface_create_for_data(memory, FORMAT_ARGB32, width, height, width * 4);
    void *context = svg_.cairo_create(surface);
    svg_.cairo_scale(context, width / svg->width, height / svg->height);
    RsvgRectangle viewport = { 0, 0, svg->width, svg->height };
    GError *error = NULL;
    bool is_drawn = svg_.rsvg_handle_render_document(svg->handle, context, &viewport, &error);
    if (!is_drawn) keep(svg, error);
    // The drawing fails if cairo is out of memory, or cannot handle its numbers.
    else if (svg_.cairo_status(context) != 0 || svg_.cairo_surface_status(surface) != 0) {
        keep(svg, NULL);
        is_drawn = false;
    }
    svg_.cairo_destroy(context);
    svg_.cairo_surface_finish(surface);
    svg_.cairo_surface_destroy(surface);
    return is_drawn;
}
