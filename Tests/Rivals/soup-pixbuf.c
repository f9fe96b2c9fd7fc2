// What an app of GNOME does by itself: libsoup downloads on the main loop, a pool of threads decodes, and the main loop gets the
// textures. MODE is one of
//
//     pixbuf       # gdk_pixbuf_new_from_stream_at_scale() in the pool
//     texture      # gdk_texture_new_from_bytes() in the pool: GTK's own decoders, which know only the size of the file
#include "rival.h"

#include <gtk/gtk.h>
#include <libsoup/soup.h>

typedef struct {
    int index;
    GBytes *bytes;
    GdkTexture *texture;
    GError *error;
} load;

static GMainLoop *loop;
static GThreadPool *pool;
static GdkTexture **textures;
static gboolean is_texture;
static int done;
static double first;

static gboolean deliver(gpointer user) {
    load *load = user;
    if (load->error) {
        g_printerr("%s: %s\n", urls[load->index], load->error->message);
        exit(1);
    }
    textures[load->index] = load->texture;
    g_free(load);
    if (++done == MIN(16, url_count)) first = seconds();
    if (done == url_count) g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

// GTK 4.20 prefers GdkTexture to GdkPixbuf, but has nothing that decodes at another size than that of the file.
G_GNUC_BEGIN_IGNORE_DEPRECATIONS

static void decode(gpointer user, gpointer unused) {
    load *load = user;
    if (is_texture) {
        load->texture = gdk_texture_new_from_bytes(load->bytes, &load->error);
    } else {
        GInputStream *stream = g_memory_input_stream_new_from_bytes(load->bytes);
        GdkPixbuf *pixbuf = gdk_pixbuf_new_from_stream_at_scale(stream, box_width, box_height, TRUE, NULL, &load->error);
        if (pixbuf) load->texture = gdk_texture_new_for_pixbuf(pixbuf);
        g_clear_object(&pixbuf);
        g_object_unref(stream);
    }
    g_bytes_unref(load->bytes);
    g_idle_add_full(G_PRIORITY_DEFAULT, deliver, load, NULL);
}

G_GNUC_END_IGNORE_DEPRECATIONS

static void receive(GObject *session, GAsyncResult *result, gpointer user) {
    load *load = user;
    load->bytes = soup_session_send_and_read_finish(SOUP_SESSION(session), result, &load->error);
    if (load->bytes) g_thread_pool_push(pool, load, NULL);
    else deliver(load);
}

int main(int argument_count, char **arguments) {
    read_arguments(argument_count, arguments);
    is_texture = argument_count > 4 && !strcmp(arguments[4], "texture");
    textures = g_new0(GdkTexture *, url_count);
    loop = g_main_loop_new(NULL, FALSE);
    double start = seconds();
    pool = g_thread_pool_new(decode, NULL, g_get_num_processors(), FALSE, NULL);
    SoupSession *session =
        soup_session_new_with_options("max-conns", CONNECTIONS, "max-conns-per-host", CONNECTIONS, NULL);
    for (int index = 0; index < url_count; index++) {
        load *new = g_new0(load, 1);
        new->index = index;
        SoupMessage *message = soup_message_new("GET", urls[index]);
        soup_session_send_and_read_async(session, message, G_PRIORITY_DEFAULT, NULL, receive, new);
        g_object_unref(message);
    }
    g_main_loop_run(loop);
    report(start, first, seconds());
    return 0;
}
