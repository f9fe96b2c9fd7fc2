// The least that a program can do: libcurl in one thread, and the library of the format in as many as there are processors. It has
// no cache, no formats, no cancellation and, unless it is compiled with -DSCREEN, no toolkit. Files of file: URLs are read by the
// threads that decode.
#include "rival.h"

#include "decoders.h"

#ifdef SCREEN
#include "screen.h"
#endif

#include <curl/curl.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

// Files that are downloaded and wait for a decoder. More only take memory.
#define MOST_WAITING 48

typedef struct {
    uint8_t *bytes;
    size_t count, capacity;
    CURL *transfer;
    pixels pixels;
#ifdef SCREEN
    GdkTexture *texture;
#endif
} image;

static image *images;
static int *queue, queued, taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static CURLM *transfers;
static long thread_count;
static pthread_t network, decoders[64];

static void fail(const char *url, const char *reason) {
    fprintf(stderr, "%s: %s\n", url, reason);
    exit(1);
}

static int is_local(void) { return !strncmp(urls[0], "file:", 5); }

static int is_secure(void) { return !strncmp(urls[0], "https:", 6); }

static size_t receive(char *bytes, size_t size, size_t count, void *user) {
    image *image = user;
    if (!image->capacity) {
        curl_off_t length = 0;
        curl_easy_getinfo(image->transfer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
        image->capacity = length > 0 ? length : 65536;
        image->bytes = malloc(image->capacity);
    }
    if (image->count + count > image->capacity) {
        image->capacity = (image->count + count) * 2;
        image->bytes = realloc(image->bytes, image->capacity);
    }
    memcpy(image->bytes + image->count, bytes, count);
    image->count += count;
    return size * count;
}

static void *download(void *unused) {
    CURL *idle[CONNECTIONS];
    int idle_count = 0, next = 0, done = 0, running;
    const char *authority = getenv("RIVAL_AUTHORITY");
    for (; idle_count < CONNECTIONS; idle_count++) idle[idle_count] = curl_easy_init();
    while (done < url_count) {
        pthread_mutex_lock(&lock);
        int waiting = queued - taken;
        pthread_mutex_unlock(&lock);
        while (next < url_count && idle_count && waiting < MOST_WAITING) {
            CURL *transfer = idle[--idle_count];
            images[next].transfer = transfer;
            curl_easy_setopt(transfer, CURLOPT_URL, urls[next]);
            curl_easy_setopt(transfer, CURLOPT_PRIVATE, (void *)(intptr_t)next);
            curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, receive);
            curl_easy_setopt(transfer, CURLOPT_WRITEDATA, &images[next++]);
            curl_easy_setopt(transfer, CURLOPT_BUFFERSIZE, 262144L);
            curl_easy_setopt(transfer, CURLOPT_NOSIGNAL, 1L);
            curl_easy_setopt(transfer, CURLOPT_FAILONERROR, 1L);
            if (is_secure()) {
                curl_easy_setopt(transfer, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
                curl_easy_setopt(transfer, CURLOPT_PIPEWAIT, 1L);
                if (authority) curl_easy_setopt(transfer, CURLOPT_CAINFO, authority);
            }
            curl_multi_add_handle(transfers, transfer);
        }
        curl_multi_perform(transfers, &running);
        int before = done;
        for (CURLMsg *message; (message = curl_multi_info_read(transfers, &running));) {
            CURL *transfer = message->easy_handle;
            CURLcode result = message->data.result;
            intptr_t index;
            curl_easy_getinfo(transfer, CURLINFO_PRIVATE, &index);
            if (result != CURLE_OK) fail(urls[index], curl_easy_strerror(result));
            curl_multi_remove_handle(transfers, transfer);
            idle[idle_count++] = transfer;
            done++;
            pthread_mutex_lock(&lock);
            queue[queued++] = index;
            pthread_cond_signal(&changed);
            pthread_mutex_unlock(&lock);
        }
        if (done == before) curl_multi_poll(transfers, NULL, 0, 1000, NULL);
    }
    return NULL;
}

static void read_file(image *image, const char *url) {
    struct stat status;
    int file = open(url + strlen("file://"), O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status)) fail(url, "it cannot be opened");
    image->bytes = malloc(status.st_size);
    for (ssize_t read_count; image->count < (size_t)status.st_size; image->count += read_count) {
        read_count = read(file, image->bytes + image->count, status.st_size - image->count);
        if (read_count <= 0) fail(url, "it cannot be read");
    }
    close(file);
}

#ifdef SCREEN

static int *ready, ready_count, shown_count, is_scheduled;

// One source takes what is ready, for two milliseconds at a time.
static gboolean show_ready(gpointer unused) {
    for (double end = seconds() + 0.002; seconds() < end;) {
        pthread_mutex_lock(&lock);
        int index = shown_count < ready_count ? ready[shown_count++] : -1;
        if (index < 0) is_scheduled = 0;
        pthread_mutex_unlock(&lock);
        if (index < 0) return G_SOURCE_REMOVE;
        screen_show(index, images[index].texture);
        if (is_last_image(index)) screen_end();
    }
    return G_SOURCE_CONTINUE;
}

// The texture is made on the thread that decodes.
static void finish(int index) {
    pixels *pixels = &images[index].pixels;
    GBytes *bytes = g_bytes_new_with_free_func(pixels->bytes, (gsize)pixels->width * pixels->height * 4, free, pixels->bytes);
    images[index].texture = gdk_memory_texture_new(pixels->width, pixels->height, GDK_MEMORY_B8G8R8A8_PREMULTIPLIED, bytes,
                                                   (gsize)pixels->width * 4);
    g_bytes_unref(bytes);
    pthread_mutex_lock(&lock);
    ready[ready_count++] = index;
    int is_first = !is_scheduled;
    is_scheduled = 1;
    pthread_mutex_unlock(&lock);
    if (is_first) g_idle_add_full(SCREEN_PRIORITY, show_ready, NULL, NULL);
}

#else

static void finish(int index) {
    pthread_mutex_lock(&lock);
    is_last_image(index);
    pthread_mutex_unlock(&lock);
}

#endif

static void *decode_all(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (taken == queued && taken < url_count) pthread_cond_wait(&changed, &lock);
        if (taken == url_count) {
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        int index = queue[taken++];
        pthread_mutex_unlock(&lock);
        image *image = &images[index];
        if (transfers) curl_multi_wakeup(transfers);
        else read_file(image, urls[index]);
        image->pixels = decode(image->bytes, image->count);
        if (!image->pixels.bytes) fail(urls[index], "it cannot be decoded");
        free(image->bytes);
        finish(index);
    }
}

static void start(void) {
    if (is_local()) {
        for (; queued < url_count; queued++) queue[queued] = queued;
    } else {
        transfers = curl_multi_init();
        // Over HTTP/2 one connection has as many transfers at a time.
        curl_multi_setopt(transfers, CURLMOPT_MAX_HOST_CONNECTIONS, is_secure() ? 1L : (long)CONNECTIONS);
        pthread_create(&network, NULL, download, NULL);
    }
    for (long thread = 0; thread < thread_count; thread++) pthread_create(&decoders[thread], NULL, decode_all, NULL);
}

int main(int argument_count, char **arguments) {
    read_arguments(argument_count, arguments);
    images = calloc(url_count, sizeof *images);
    queue = calloc(url_count, sizeof *queue);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    thread_count = sysconf(_SC_NPROCESSORS_ONLN);
    if (thread_count > 64) thread_count = 64;
#ifdef SCREEN
    ready = calloc(url_count, sizeof *ready);
    screen_run(start);
#else
    begin_measuring();
    start();
#endif
    for (long thread = 0; thread < thread_count; thread++) pthread_join(decoders[thread], NULL);
    if (transfers) pthread_join(network, NULL);
#ifdef SCREEN
    report(screen_longest_turn());
#else
    report(0);
#endif
    return 0;
}
