#include "CWebImageGtkShims.h"

#include <dlfcn.h>

// A function of a GTK that can be newer than the headers of this build. NULL where GTK has none of that name.
#define OPTIONAL_FUNCTION(name, result, parameters) \
    static result (*optional_##name(void)) parameters { \
        static gsize known; \
        static void *function; \
        if (g_once_init_enter(&known)) { \
            function = dlsym(RTLD_DEFAULT, #name); \
            g_once_init_leave(&known, 1); \
        } \
        return (result(*) parameters)function; \
    }

// GTK 4.12
OPTIONAL_FUNCTION(gdk_surface_get_scale, double, (GdkSurface *))
OPTIONAL_FUNCTION(gtk_list_item_set_accessible_label, void, (GtkListItem *, const char *))
// GTK 4.16
OPTIONAL_FUNCTION(gdk_memory_texture_builder_new, GObject *, (void))
OPTIONAL_FUNCTION(gdk_memory_texture_builder_set_bytes, void, (GObject *, GBytes *))
OPTIONAL_FUNCTION(gdk_memory_texture_builder_set_stride, void, (GObject *, gsize))
OPTIONAL_FUNCTION(gdk_memory_texture_builder_set_width, void, (GObject *, int))
OPTIONAL_FUNCTION(gdk_memory_texture_builder_set_height, void, (GObject *, int))
OPTIONAL_FUNCTION(gdk_memory_texture_builder_set_format, void, (GObject *, GdkMemoryFormat))
OPTIONAL_FUNCTION(gdk_memory_texture_builder_set_color_state, void, (GObject *, void *))
OPTIONAL_FUNCTION(gdk_memory_texture_builder_build, GdkTexture *, (GObject *))
OPTIONAL_FUNCTION(gdk_cicp_params_new, GObject *, (void))
OPTIONAL_FUNCTION(gdk_cicp_params_set_color_primaries, void, (GObject *, guint))
OPTIONAL_FUNCTION(gdk_cicp_params_set_transfer_function, void, (GObject *, guint))
OPTIONAL_FUNCTION(gdk_cicp_params_set_matrix_coefficients, void, (GObject *, guint))
OPTIONAL_FUNCTION(gdk_cicp_params_set_range, void, (GObject *, int))
OPTIONAL_FUNCTION(gdk_cicp_params_build_color_state, void *, (GObject *, GError **))
// GTK 4.22
OPTIONAL_FUNCTION(gtk_svg_set_frame_clock, void, (GObject *, GdkFrameClock *))
// libadwaita 1.0
OPTIONAL_FUNCTION(adw_style_manager_get_default, GObject *, (void))

GObject *gwi_adwaita_style(void) {
    // The type exists once adw_init was called.
    GObject *(*get_default)(void) = g_type_from_name("AdwStyleManager") ? optional_adw_style_manager_get_default() : NULL;
    return get_default ? get_default() : NULL;
}

double gwi_widget_get_scale(GtkWidget *widget) {
    GtkNative *native = optional_gdk_surface_get_scale() ? gtk_widget_get_native(widget) : NULL;
    GdkSurface *surface = native ? gtk_native_get_surface(native) : NULL;
    return surface ? optional_gdk_surface_get_scale()(surface) : gtk_widget_get_scale_factor(widget);
}

void gwi_list_item_set_accessible_label(GtkListItem *item, const char *label) {
    if (optional_gtk_list_item_set_accessible_label()) {
        optional_gtk_list_item_set_accessible_label()(item, label ? label : "");
        if (label) return;
        // An empty name is a name.
    }
    // What has the focus is the parent of the child.
    GtkWidget *child = gtk_list_item_get_child(item);
    GtkWidget *cell = child ? gtk_widget_get_parent(child) : NULL;
    if (!cell) return;
    if (label) gtk_accessible_update_property(GTK_ACCESSIBLE(cell), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
    else gtk_accessible_reset_property(GTK_ACCESSIBLE(cell), GTK_ACCESSIBLE_PROPERTY_LABEL);
}

// The colour state of Display P3, made once. NULL where GTK has none.
static void *display_p3(void) {
    static gsize known;
    static void *state;
    if (!g_once_init_enter(&known)) return state;
    if (optional_gdk_cicp_params_build_color_state()) {
        GObject *params = optional_gdk_cicp_params_new()();
        // ITU-T H.273: the primaries of SMPTE EG 432-1, the transfer function of sRGB, no matrix, and all values of a byte.
        // The default is the narrow range of video.
        optional_gdk_cicp_params_set_color_primaries()(params, 12);
        optional_gdk_cicp_params_set_transfer_function()(params, 13);
        optional_gdk_cicp_params_set_matrix_coefficients()(params, 0);
        optional_gdk_cicp_params_set_range()(params, 1);
        state = optional_gdk_cicp_params_build_color_state()(params, NULL);
        g_object_unref(params);
    }
    g_once_init_leave(&known, 1);
    return state;
}

gboolean gwi_texture_has_display_p3(void) { return optional_gdk_memory_texture_builder_new() && display_p3(); }

GdkTexture *gwi_texture_new(GBytes *bytes, int width, int height, GdkMemoryFormat format, gboolean is_display_p3) {
    gsize stride = g_bytes_get_size(bytes) / (gsize)height;
    if (!is_display_p3) return gdk_memory_texture_new(width, height, format, bytes, stride);
    GObject *builder = optional_gdk_memory_texture_builder_new()();
    optional_gdk_memory_texture_builder_set_bytes()(builder, bytes);
    optional_gdk_memory_texture_builder_set_stride()(builder, stride);
    optional_gdk_memory_texture_builder_set_width()(builder, width);
    optional_gdk_memory_texture_builder_set_height()(builder, height);
    optional_gdk_memory_texture_builder_set_format()(builder, format);
    optional_gdk_memory_texture_builder_set_color_state()(builder, display_p3());
    GdkTexture *texture = optional_gdk_memory_texture_builder_build()(builder);
    g_object_unref(builder);
    return texture;
}

gboolean gwi_is_svg(GdkPaintable *paintable) {
    GType type = optional_gtk_svg_set_frame_clock() ? g_type_from_name("GtkSvg") : 0;
    return type && g_type_check_instance_is_a((GTypeInstance *)paintable, type);
}

void gwi_svg_play(GdkPaintable *svg, GdkFrameClock *clock) {
    if (!clock) g_object_set(svg, "playing", FALSE, NULL);
    optional_gtk_svg_set_frame_clock()(G_OBJECT(svg), clock);
    if (clock) g_object_set(svg, "playing", TRUE, NULL);
}
