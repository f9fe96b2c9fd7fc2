// A GdkPaintable whose methods are written in Swift, which cannot declare a GObject type. It contains no logic.
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
