// What an app of GNOME does by itself: libsoup downloads on the main loop, a pool of threads decodes, and the main loop gets the
// textures. MODE is one of
//
//     pixbuf       # gdk_pixbuf_new_from_stream_at_scale() in the pool; from a file, gdk_pixbuf_new_from_file_at_scale()
//     texture      # gdk_texture_new_from_bytes() in the pool: GTK's own decoders, which know only the size of the file
#include "rival.h"

#include <gtk/gtk.h>
#include <libsoup/soup.h>

#ifdef SCREEN
#include "screen.h"
#endif

typedef struct {
    int index;
    GBytes *bytes;
    GdkTexture *texture;
    GError *error;
} load;

static GThreadPool *pool;
static gboolean is_texture;

#ifdef SCREEN

static void finish(load *load) {
    screen_show(load->index, load->texture);
    if (is_last_image(load->index)) screen_end();
}

#else

static GMainLoop *loop;
static GdkTexture **textures;

static void finish(load *load) {
    textures[load->index] = load->texture;
    if (is_last_image(load->index)) g_main_loop_quit(loop);
}

#endif

static gboolean deliver(gpointer user) {
    load *load = user;
    if (load->error) {
        g_printerr("%s: %s\n", urls[load->index], load->error->message);
        exit(1);
    }
    finish(load);
    g_free(load);
    return G_SOURCE_REMOVE;
}

// GTK 4.20 prefers GdkTexture to GdkPixbuf, but has nothing that decodes at another size than that of the file.
G_GNUC_BEGIN_IGNORE_DEPRECATIONS

static GdkPixbuf *pixbuf_of(load *load) {
    int width = box_width ? box_width : -1, height = box_height ? box_height : -1;
    if (!load->bytes) {
        const char *path = urls[load->index] + strlen("file://");
        return gdk_pixbuf_new_from_file_at_scale(path, width, height, TRUE, &load->error);
    }
    GInputStream *stream = g_memory_input_stream_new_from_bytes(load->bytes);
    GdkPixbuf *pixbuf = gdk_pixbuf_new_from_stream_at_scale(stream, width, height, TRUE, NULL, &load->error);
    g_object_unref(stream);
    return pixbuf;
}

static void decode(gpointer user, gpointer unused) {
    load *load = user;
    if (is_texture) {
        load->texture = gdk_texture_new_from_bytes(load->bytes, &load->error);
    } else {
        GdkPixbuf *pixbuf = pixbuf_of(load);
        if (pixbuf) load->texture = gdk_texture_new_for_pixbuf(pixbuf);
        g_clear_object(&pixbuf);
    }
    if (load->bytes) g_bytes_unref(load->bytes);
    g_idle_add_full(G_PRIORITY_DEFAULT, deliver, load, NULL);
}

G_GNUC_END_IGNORE_DEPRECATIONS

static void receive(GObject *session, GAsyncResult *result, gpointer user) {
    load *load = user;
    load->bytes = soup_session_send_and_read_finish(SOUP_SESSION(session), result, &load->error);
    if (load->bytes) g_thread_pool_push(pool, load, NULL);
    else deliver(load);
}

static void start(void) {
    pool = g_thread_pool_new(decode, NULL, g_get_num_processors(), FALSE, NULL);
    SoupSession *session =
        soup_session_new_with_options("max-conns", CONNECTIONS, "max-conns-per-host", CONNECTIONS, NULL);
    if (g_getenv("RIVAL_AUTHORITY")) {
        GTlsDatabase *authority = g_tls_file_database_new(g_getenv("RIVAL_AUTHORITY"), NULL);
        g_object_set(session, "tls-database", authority, NULL);
    }
    for (int index = 0; index < url_count; index++) {
        load *new = g_new0(load, 1);
        new->index = index;
        if (g_str_has_prefix(urls[index], "file:")) {
            g_thread_pool_push(pool, new, NULL);
            continue;
        }
        SoupMessage *message = soup_message_new("GET", urls[index]);
        soup_session_send_and_read_async(session, message, G_PRIORITY_DEFAULT, NULL, receive, new);
        g_object_unref(message);
    }
}

int main(int argument_count, char **arguments) {
    read_arguments(argument_count, arguments);
    is_texture = argument_count > 4 && !strcmp(arguments[4], "texture");
#ifdef SCREEN
    screen_run(start);
    report(screen_longest_turn());
#else
    textures = g_new0(GdkTexture *, url_count);
    loop = g_main_loop_new(NULL, FALSE);
    begin_measuring();
    start();
    g_main_loop_run(loop);
    report(0);
#endif
    return 0;
}
