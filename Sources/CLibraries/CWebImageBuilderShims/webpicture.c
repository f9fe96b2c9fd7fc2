#include "CWebImageBuilderShims.h"

// Properties after those of Swift. The library puts its GtkPicture into any widget that has a `child`.
enum { CHILD = GWI_WEB_PICTURE_ERROR_MESSAGE + 1, CONTENT_FIT, PROPERTY_COUNT };

// Every type of GtkBuilder's world is found by its name, so it has none of the prefixes of C.
G_DECLARE_FINAL_TYPE(WebPicture, gwi_web_picture, GWI, WEB_PICTURE, GtkWidget)

struct _WebPicture {
    GtkWidget parent_instance;
    GtkWidget *child;
    // What a failure shows; NULL if the file has none.
    GtkWidget *failure;
    gboolean is_failed, hides_child;
    GtkContentFit content_fit;
    // NULL in a program without Swift, such as gtk4-builder-tool.
    void *context;
};

static const GwiWebPictureFunctions *functions;
static GtkBuildableIface *parent_buildable;
static guint loaded_signal, failed_signal;

static void update_children(WebPicture *self) {
    gboolean shows_failure = self->is_failed && self->failure;
    // The child stays mapped, because a hidden image would not be loaded again when the network is back.
    if (self->child) gtk_widget_set_opacity(self->child, shows_failure && self->hides_child ? 0 : 1);
    if (GTK_IS_PICTURE(self->child)) gtk_picture_set_content_fit(GTK_PICTURE(self->child), self->content_fit);
    if (self->failure && gtk_widget_get_child_visible(self->failure) != shows_failure) {
        gtk_widget_set_child_visible(self->failure, shows_failure);
        gtk_widget_queue_resize(GTK_WIDGET(self));
    }
}

// Replaces a child. The failure is drawn last, above the image.
static void replace(WebPicture *self, GtkWidget **place, GtkWidget *widget) {
    if (*place == widget) return;
    g_return_if_fail(!widget || !gtk_widget_get_parent(widget));
    g_clear_pointer(place, gtk_widget_unparent);
    *place = widget;
    if (!widget) return;
    if (place == &self->child) gtk_widget_insert_after(widget, GTK_WIDGET(self), NULL);
    else gtk_widget_insert_before(widget, GTK_WIDGET(self), NULL);
    if (place == &self->failure) gtk_widget_set_child_visible(widget, FALSE);
    update_children(self);
}

static void add_child(GtkBuildable *buildable, GtkBuilder *builder, GObject *child, const char *type) {
    WebPicture *self = (WebPicture *)buildable;
    if (g_strcmp0(type, "failure") == 0 && GTK_IS_WIDGET(child)) replace(self, &self->failure, GTK_WIDGET(child));
    else if (GTK_IS_WIDGET(child)) GTK_BUILDER_WARN_INVALID_CHILD_TYPE(self, type ? type : "none");
    else parent_buildable->add_child(buildable, builder, child, type);
}

static void buildable_init(GtkBuildableIface *interface) {
    parent_buildable = g_type_interface_peek_parent(interface);
    interface->add_child = add_child;
}

G_DEFINE_TYPE_WITH_CODE(WebPicture, gwi_web_picture, GTK_TYPE_WIDGET,
                        G_IMPLEMENT_INTERFACE(GTK_TYPE_BUILDABLE, buildable_init))

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
    WebPicture *self = GWI_WEB_PICTURE(object);
    gboolean is_changed = FALSE;
    if (id == CHILD) {
        is_changed = self->child != g_value_get_object(value);
        replace(self, &self->child, g_value_get_object(value));
    } else if (id == CONTENT_FIT) {
        is_changed = self->content_fit != (GtkContentFit)g_value_get_enum(value);
        self->content_fit = (GtkContentFit)g_value_get_enum(value);
        update_children(self);
    } else if (self->context) {
        is_changed = functions->set(self->context, (GwiWebPictureProperty)id, value);
    }
    if (is_changed) g_object_notify_by_pspec(object, spec);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
    WebPicture *self = GWI_WEB_PICTURE(object);
    (void)spec;
    if (id == CHILD) g_value_set_object(value, self->child);
    else if (id == CONTENT_FIT) g_value_set_enum(value, (int)self->content_fit);
    else if (self->context) functions->get(self->context, (GwiWebPictureProperty)id, value);
}

static void dispose(GObject *object) {
    WebPicture *self = GWI_WEB_PICTURE(object);
    if (self->context) functions->dispose(self->context);
    replace(self, &self->child, NULL);
    replace(self, &self->failure, NULL);
    G_OBJECT_CLASS(gwi_web_picture_parent_class)->dispose(object);
}

static void finalize(GObject *object) {
    WebPicture *self = GWI_WEB_PICTURE(object);
    if (self->context) functions->release(self->context);
    G_OBJECT_CLASS(gwi_web_picture_parent_class)->finalize(object);
}

// A widget with a width and a height of its own keeps them whatever it shows, so that an image that arrives moves nothing.
static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                    int *minimum_baseline, int *natural_baseline) {
    int width, height;
    gtk_widget_get_size_request(widget, &width, &height);
    *minimum = *natural = 0;
    *minimum_baseline = *natural_baseline = -1;
    if (width >= 0 && height >= 0) return;
    for (GtkWidget *child = gtk_widget_get_first_child(widget); child; child = gtk_widget_get_next_sibling(child)) {
        int child_minimum, child_natural;
        if (!gtk_widget_get_child_visible(child) || !gtk_widget_should_layout(child)) continue;
        gtk_widget_measure(child, orientation, for_size, &child_minimum, &child_natural, NULL, NULL);
        *minimum = MAX(*minimum, child_minimum);
        *natural = MAX(*natural, child_natural);
    }
}

static GtkSizeRequestMode get_request_mode(GtkWidget *widget) {
    (void)widget;
    return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

// A child that needs more is cut off at the edges.
static void size_allocate(GtkWidget *widget, int width, int height, int baseline) {
    (void)baseline;
    for (GtkWidget *child = gtk_widget_get_first_child(widget); child; child = gtk_widget_get_next_sibling(child)) {
        if (!gtk_widget_get_child_visible(child) || !gtk_widget_should_layout(child)) continue;
        int least_width, least_height;
        gtk_widget_measure(child, GTK_ORIENTATION_HORIZONTAL, -1, &least_width, NULL, NULL, NULL);
        least_width = MAX(width, least_width);
        gtk_widget_measure(child, GTK_ORIENTATION_VERTICAL, least_width, &least_height, NULL, NULL, NULL);
        gtk_widget_allocate(child, least_width, MAX(height, least_height), -1, NULL);
    }
}

static GType state_type(void) {
    static const GEnumValue values[] = {
        {GWI_WEB_PICTURE_IDLE, "GWI_WEB_PICTURE_IDLE", "idle"},
        {GWI_WEB_PICTURE_LOADING, "GWI_WEB_PICTURE_LOADING", "loading"},
        {GWI_WEB_PICTURE_SHOWN, "GWI_WEB_PICTURE_SHOWN", "shown"},
        {GWI_WEB_PICTURE_FAILED, "GWI_WEB_PICTURE_FAILED", "failed"},
        {0, NULL, NULL},
    };
    static GType type;
    return type ? type : (type = g_enum_register_static("WebPictureState", values));
}

static GType transition_type(void) {
    static const GEnumValue values[] = {
        {GWI_WEB_PICTURE_NO_TRANSITION, "GWI_WEB_PICTURE_NO_TRANSITION", "none"},
        {GWI_WEB_PICTURE_CROSSFADE, "GWI_WEB_PICTURE_CROSSFADE", "crossfade"},
        {GWI_WEB_PICTURE_SLIDE, "GWI_WEB_PICTURE_SLIDE", "slide"},
        {GWI_WEB_PICTURE_UNCOVER, "GWI_WEB_PICTURE_UNCOVER", "uncover"},
        {GWI_WEB_PICTURE_FLIP, "GWI_WEB_PICTURE_FLIP", "flip"},
        {GWI_WEB_PICTURE_ZOOM, "GWI_WEB_PICTURE_ZOOM", "zoom"},
        {0, NULL, NULL},
    };
    static GType type;
    return type ? type : (type = g_enum_register_static("WebPictureTransition", values));
}

static void gwi_web_picture_class_init(WebPictureClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->dispose = dispose;
    object->finalize = finalize;

    GtkWidgetClass *widget = GTK_WIDGET_CLASS(class);
    widget->measure = measure;
    widget->get_request_mode = get_request_mode;
    widget->size_allocate = size_allocate;
    gtk_widget_class_set_css_name(widget, "webpicture");
    gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);

    static const char *const texts[] = {
        [GWI_WEB_PICTURE_URI] = "uri",
        [GWI_WEB_PICTURE_SRCSET] = "srcset",
        [GWI_WEB_PICTURE_DARK_URI] = "dark-uri",
        [GWI_WEB_PICTURE_PLACEHOLDER_ICON_NAME] = "placeholder-icon-name",
        [GWI_WEB_PICTURE_BLUR_HASH] = "blur-hash",
        [GWI_WEB_PICTURE_THUMB_HASH] = "thumb-hash",
        [GWI_WEB_PICTURE_ALTERNATIVE_TEXT] = "alternative-text",
    };
    const GParamFlags writable = G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;
    const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    GParamSpec *properties[PROPERTY_COUNT] = {NULL};
    for (int id = GWI_WEB_PICTURE_URI; id <= GWI_WEB_PICTURE_ALTERNATIVE_TEXT; id++)
        properties[id] = g_param_spec_string(texts[id], NULL, NULL, NULL, writable);
    properties[GWI_WEB_PICTURE_TRANSITION] =
        g_param_spec_enum("transition", NULL, NULL, transition_type(), GWI_WEB_PICTURE_NO_TRANSITION, writable);
    properties[GWI_WEB_PICTURE_RETRY_ON_CLICK] = g_param_spec_boolean("retry-on-click", NULL, NULL, FALSE, writable);
    properties[GWI_WEB_PICTURE_STATE] =
        g_param_spec_enum("state", NULL, NULL, state_type(), GWI_WEB_PICTURE_IDLE, readable);
    properties[GWI_WEB_PICTURE_PROGRESS] = g_param_spec_double("progress", NULL, NULL, 0, 1, 0, readable);
    properties[GWI_WEB_PICTURE_ERROR_MESSAGE] = g_param_spec_string("error-message", NULL, NULL, NULL, readable);
    properties[CHILD] = g_param_spec_object("child", NULL, NULL, GTK_TYPE_WIDGET, writable);
    properties[CONTENT_FIT] =
        g_param_spec_enum("content-fit", NULL, NULL, GTK_TYPE_CONTENT_FIT, GTK_CONTENT_FIT_CONTAIN, writable);
    g_object_class_install_properties(object, PROPERTY_COUNT, properties);

    loaded_signal = g_signal_new("loaded", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
    failed_signal = g_signal_new("failed", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                                 G_TYPE_STRING);
}

static void gwi_web_picture_init(WebPicture *self) {
    self->content_fit = GTK_CONTENT_FIT_CONTAIN;
    // Rounded corners of a stylesheet apply to the image, too.
    gtk_widget_set_overflow(GTK_WIDGET(self), GTK_OVERFLOW_HIDDEN);
    if (functions) self->context = functions->create(GTK_WIDGET(self));
}

gboolean gwi_web_picture_register(const GwiWebPictureFunctions *new_functions) {
    functions = new_functions;
    return gwi_web_picture_get_type() && state_type() && transition_type();
}

void gwi_web_picture_set_failed(GtkWidget *widget, gboolean is_failed, gboolean hides_child) {
    WebPicture *self = GWI_WEB_PICTURE(widget);
    self->is_failed = is_failed;
    self->hides_child = hides_child;
    update_children(self);
}

void gwi_web_picture_emit(GtkWidget *widget, const char *message) {
    if (message) g_signal_emit(widget, failed_signal, 0, message);
    else g_signal_emit(widget, loaded_signal, 0);
}
