// WebPicture, a widget for the files of GtkBuilder. Swift, which cannot declare a GObject type, implements most of its properties.
#pragma once

#include <gtk/gtk.h>

// The properties that Swift implements.
typedef enum {
    GWI_WEB_PICTURE_URI = 1,
    GWI_WEB_PICTURE_SRCSET,
    GWI_WEB_PICTURE_DARK_URI,
    GWI_WEB_PICTURE_PLACEHOLDER_ICON_NAME,
    GWI_WEB_PICTURE_BLUR_HASH,
    GWI_WEB_PICTURE_THUMB_HASH,
    GWI_WEB_PICTURE_ALTERNATIVE_TEXT,
    GWI_WEB_PICTURE_TRANSITION,
    GWI_WEB_PICTURE_RETRY_ON_CLICK,
    GWI_WEB_PICTURE_STATE,
    GWI_WEB_PICTURE_PROGRESS,
    GWI_WEB_PICTURE_ERROR_MESSAGE,
} GwiWebPictureProperty;

typedef enum {
    GWI_WEB_PICTURE_IDLE,
    GWI_WEB_PICTURE_LOADING,
    GWI_WEB_PICTURE_SHOWN,
    GWI_WEB_PICTURE_FAILED,
} GwiWebPictureState;

typedef enum {
    GWI_WEB_PICTURE_NO_TRANSITION,
    GWI_WEB_PICTURE_CROSSFADE,
    GWI_WEB_PICTURE_SLIDE,
    GWI_WEB_PICTURE_UNCOVER,
    GWI_WEB_PICTURE_FLIP,
    GWI_WEB_PICTURE_ZOOM,
} GwiWebPictureTransition;

// What Swift does for a widget. GTK calls it on the main thread.
typedef struct {
    // Makes the context that the other functions receive. The widget owns it, and is not complete yet.
    void *(*create)(GtkWidget *widget);
    // Returns whether the property has changed.
    gboolean (*set)(void *context, GwiWebPictureProperty property, const GValue *value);
    void (*get)(void *context, GwiWebPictureProperty property, GValue *value);
    void (*dispose)(void *context);
    void (*release)(void *context);
} GwiWebPictureFunctions;

// Registers the type for all widgets from now on. FALSE if the process has another type with a name of it or its enums. `functions` must outlive them.
gboolean gwi_web_picture_register(const GwiWebPictureFunctions *functions);

// Shows the child for failures, over the placeholder or in its place, or the image again.
void gwi_web_picture_set_failed(GtkWidget *widget, gboolean is_failed, gboolean hides_child);

// Emits `failed` with a message, or `loaded` without one. A handler may dispose of the widget.
void gwi_web_picture_emit(GtkWidget *widget, const char *message);
