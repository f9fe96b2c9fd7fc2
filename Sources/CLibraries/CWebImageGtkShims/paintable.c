#include "CWebImageGtkShims.h"

#define GWI_TYPE_PAINTABLE (gwi_paintable_get_type())
G_DECLARE_FINAL_TYPE(GwiPaintable, gwi_paintable, GWI, PAINTABLE, GObject)

struct _GwiPaintable {
    GObject parent_instance;
    const GwiPaintableFunctions *functions;
    void *context;
};

static void snapshot(GdkPaintable *paintable, GdkSnapshot *snapshot, double width, double height) {
    GwiPaintable *self = GWI_PAINTABLE(paintable);
    self->functions->snapshot(self->context, GTK_SNAPSHOT(snapshot), width, height);
}

static GdkPaintable *get_current_image(GdkPaintable *paintable) {
    GwiPaintable *self = GWI_PAINTABLE(paintable);
    return self->functions->current_image(self->context);
}

static int get_intrinsic_width(GdkPaintable *paintable) {
    GwiPaintable *self = GWI_PAINTABLE(paintable);
    return self->functions->width(self->context);
}

static int get_intrinsic_height(GdkPaintable *paintable) {
    GwiPaintable *self = GWI_PAINTABLE(paintable);
    return self->functions->height(self->context);
}

static double get_intrinsic_aspect_ratio(GdkPaintable *paintable) {
    GwiPaintable *self = GWI_PAINTABLE(paintable);
    return self->functions->aspect_ratio(self->context);
}

static void paintable_interface_init(GdkPaintableInterface *interface) {
    interface->snapshot = snapshot;
    interface->get_current_image = get_current_image;
    interface->get_intrinsic_width = get_intrinsic_width;
    interface->get_intrinsic_height = get_intrinsic_height;
    interface->get_intrinsic_aspect_ratio = get_intrinsic_aspect_ratio;
}

G_DEFINE_TYPE_WITH_CODE(GwiPaintable, gwi_paintable, G_TYPE_OBJECT,
                        G_IMPLEMENT_INTERFACE(GDK_TYPE_PAINTABLE, paintable_interface_init))

static void finalize(GObject *object) {
    GwiPaintable *self = GWI_PAINTABLE(object);
    if (self->context) self->functions->release(self->context);
    G_OBJECT_CLASS(gwi_paintable_parent_class)->finalize(object);
}

static void gwi_paintable_class_init(GwiPaintableClass *class) {
    G_OBJECT_CLASS(class)->finalize = finalize;
}

static void gwi_paintable_init(GwiPaintable *self) {
    (void)self;
}

GdkPaintable *gwi_paintable_new(const GwiPaintableFunctions *functions) {
    GwiPaintable *self = g_object_new(GWI_TYPE_PAINTABLE, NULL);
    self->functions = functions;
    return GDK_PAINTABLE(self);
}

void gwi_paintable_set_context(GdkPaintable *paintable, void *context) {
    GWI_PAINTABLE(paintable)->context = context;
}
