// A GdkPaintable whose methods are written in Swift, which cannot declare a GObject type, and what newer versions of GTK add.
#pragma once

#include <gtk/gtk.h>

// The methods of the paintable. GTK calls them on the main thread; `release` runs wherever the last reference is dropped.
typedef struct {
    void (*snapshot)(void *context, GtkSnapshot *snapshot, double width, double height);
    // Returns a new reference to an immutable paintable.
    GdkPaintable *(*current_image)(void *context);
    int (*width)(void *context);
    int (*height)(void *context);
    double (*aspect_ratio)(void *context);
    void (*release)(void *context);
} GwiPaintableFunctions;

// Creates a paintable without a context. The caller owns the reference. `functions` must outlive the paintable.
GdkPaintable *gwi_paintable_new(const GwiPaintableFunctions *functions);

// Sets the context that every function receives, once, before the paintable is used. The paintable owns it.
void gwi_paintable_set_context(GdkPaintable *paintable, void *context);

// What GTK has had since a later version than 4.8, found at run time: an app that was built on an older system gets it, too.

// Device pixels per application pixel where a widget is shown: a fraction such as 1.5 since GTK 4.12, a whole number before, and
// without a surface.
double gwi_widget_get_scale(GtkWidget *widget);

// Names an item of a list for assistive technology, which GTK offers since 4.12; before, the widget around its child is named.
void gwi_list_item_set_accessible_label(GtkListItem *item, const char *label);

// The AdwStyleManager of an app that uses libadwaita; NULL in other apps.
GObject *gwi_adwaita_style(void);

// Whether a texture can name Display P3 as its colours, which GTK offers since 4.16.
gboolean gwi_texture_has_display_p3(void);

// Makes a texture of rows without padding. `is_display_p3` demands gwi_texture_has_display_p3().
GdkTexture *gwi_texture_new(GBytes *bytes, int width, int height, GdkMemoryFormat format, gboolean is_display_p3);

// Whether a paintable is a GtkSvg, which GTK has since 4.22.
gboolean gwi_is_svg(GdkPaintable *paintable);

// Plays a GtkSvg on a clock, or pauses it without one.
void gwi_svg_play(GdkPaintable *svg, GdkFrameClock *clock);
