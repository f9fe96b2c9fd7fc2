// A GdkPaintable whose drawing is done in Swift. A GObject type is what Swift cannot declare; no logic lives here.
#pragma once

#include <gtk/gtk.h>

// Called on the main thread, `release` wherever the last reference is dropped.
typedef struct {
    void (*snapshot)(void *context, GtkSnapshot *snapshot, double width, double height);
    // A new reference to something that never changes.
    GdkPaintable *(*current_image)(void *context);
    int (*width)(void *context);
    int (*height)(void *context);
    double (*aspect_ratio)(void *context);
    void (*release)(void *context);
} GwiPaintableFunctions;

// `functions` has to outlive the paintable. The caller owns the reference that is returned.
GdkPaintable *gwi_paintable_new(const GwiPaintableFunctions *functions, void *context);
