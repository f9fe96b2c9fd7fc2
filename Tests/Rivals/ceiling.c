// The least that a program can do: libcurl in one thread, and libjpeg in as many as there are processors, which decodes at the
// next larger eighth of the size and averages the rest. It has no cache, no formats, no cancellation and no toolkit.
#include "rival.h"

#include <curl/curl.h>
#include <jpeglib.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

// Files that are downloaded and wait for a decoder. More only take memory.
#define MOST_WAITING 48

typedef struct {
    uint8_t *bytes;
    size_t count, capacity;
    uint8_t *pixels;
} image;

static image *images;
static int *queue, queued, taken, decoded;
static double first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static CURLM *transfers;

static void fail(const char *url, const char *reason) {
    fprintf(stderr, "%s: %s\n", url, reason);
    exit(1);
}

static size_t receive(char *bytes, size_t size, size_t count, void *user) {
    image *image = user;
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
    for (; idle_count < CONNECTIONS; idle_count++) idle[idle_count] = curl_easy_init();
    while (done < url_count) {
        pthread_mutex_lock(&lock);
        int waiting = queued - taken;
        pthread_mutex_unlock(&lock);
        while (next < url_count && idle_count && waiting < MOST_WAITING) {
            CURL *transfer = idle[--idle_count];
            curl_easy_setopt(transfer, CURLOPT_URL, urls[next]);
            curl_easy_setopt(transfer, CURLOPT_PRIVATE, (void *)(intptr_t)next);
            curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, receive);
            curl_easy_setopt(transfer, CURLOPT_WRITEDATA, &images[next++]);
            curl_easy_setopt(transfer, CURLOPT_BUFFERSIZE, 262144L);
            curl_easy_setopt(transfer, CURLOPT_FAILONERROR, 1L);
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

typedef int32_t channels __attribute__((vector_size(16)));
typedef float sums __attribute__((vector_size(16)));
typedef uint8_t pixel __attribute__((vector_size(4)));

// Averages rows of pixels to an image that is smaller in both directions. A source pixel counts for each target pixel that it
// lies under by the area there.
typedef struct {
    int source_width, source_height, width, height;
    int taps, *starts, *weights;
    int source_row, row;
    sums *total;
    uint8_t *pixels;
} shrinking;

static int overlap(int start, int end, int other_start, int other_end) {
    int last = end < other_end ? end : other_end, begin = start > other_start ? start : other_start;
    return last > begin ? last - begin : 0;
}

static shrinking shrinking_new(int source_width, int source_height, int width, int height) {
    shrinking new = {source_width, source_height, width, height, (source_width + width - 1) / width + 1};
    new.starts = malloc(width * sizeof(int));
    new.weights = malloc((size_t)width * new.taps * sizeof(int));
    new.total = aligned_alloc(64, ((size_t)width * sizeof(sums) + 63) / 64 * 64);
    new.pixels = malloc((size_t)width * height * 4);
    memset(new.total, 0, width * sizeof(sums));
    for (int x = 0; x < width; x++) {
        // A source pixel is `width` units wide, and a target pixel `source_width`.
        int start = x * source_width / width;
        if (start + new.taps > source_width) start = source_width - new.taps;
        if (start < 0) start = 0;
        new.starts[x] = start;
        for (int tap = 0; tap < new.taps; tap++) {
            int left = (start + tap) * width;
            new.weights[x * new.taps + tap] = overlap(left, left + width, x * source_width, (x + 1) * source_width);
        }
    }
    return new;
}

static void shrinking_add(shrinking *self, const uint8_t *source) {
    int top = self->source_row++ * self->height, bottom = top + self->height;
    // A source row lies under one target row or under two.
    while (self->row < self->height) {
        int end = (self->row + 1) * self->source_height;
        int height = overlap(top, bottom, self->row * self->source_height, end);
        for (int x = 0; height && x < self->width; x++) {
            const uint8_t *start = source + self->starts[x] * 4;
            const int *weights = self->weights + x * self->taps;
            channels sum = {0};
            for (int tap = 0; tap < self->taps; tap++) {
                pixel pixel;
                memcpy(&pixel, start + tap * 4, 4);
                sum += __builtin_convertvector(pixel, channels) * weights[tap];
            }
            self->total[x] += __builtin_convertvector(sum, sums) * (float)height;
        }
        if (end > bottom) return;
        float area = 1.0f / ((float)self->source_width * self->source_height);
        for (int x = 0; x < self->width; x++) {
            pixel pixel = __builtin_convertvector(self->total[x] * area + 0.5f, __typeof__(pixel));
            memcpy(self->pixels + ((size_t)self->row * self->width + x) * 4, &pixel, 4);
        }
        memset(self->total, 0, self->width * sizeof(sums));
        self->row++;
        if (end == bottom) return;
    }
}

// - Returns: Premultiplied BGRA within the box.
static uint8_t *decode(const uint8_t *bytes, size_t count) {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    reader.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, bytes, count);
    jpeg_read_header(&reader, TRUE);
    double scale = (double)box_width / reader.image_width, other = (double)box_height / reader.image_height;
    if (other < scale) scale = other;
    if (scale > 1) scale = 1;
    int width = reader.image_width * scale + 0.5, height = reader.image_height * scale + 0.5;
    reader.scale_denom = 8;
    for (reader.scale_num = 1; reader.scale_num < 8; reader.scale_num++) {
        jpeg_calc_output_dimensions(&reader);
        if ((int)reader.output_width >= width && (int)reader.output_height >= height) break;
    }
    reader.out_color_space = JCS_EXT_BGRA;
    jpeg_start_decompress(&reader);
    uint8_t *block = malloc((size_t)reader.output_width * 4 * 8);
    shrinking target = shrinking_new(reader.output_width, reader.output_height, width, height);
    while (reader.output_scanline < reader.output_height) {
        JSAMPROW rows[8];
        for (int row = 0; row < 8; row++) rows[row] = block + (size_t)row * reader.output_width * 4;
        int read = jpeg_read_scanlines(&reader, rows, 8);
        for (int row = 0; row < read; row++) shrinking_add(&target, rows[row]);
    }
    jpeg_finish_decompress(&reader);
    jpeg_destroy_decompress(&reader);
    free(block);
    free(target.starts);
    free(target.weights);
    free(target.total);
    return target.pixels;
}

static void *decode_all(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (taken == queued && taken < url_count) pthread_cond_wait(&changed, &lock);
        if (taken == url_count) {
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        image *image = &images[queue[taken++]];
        pthread_mutex_unlock(&lock);
        curl_multi_wakeup(transfers);
        image->pixels = decode(image->bytes, image->count);
        free(image->bytes);
        pthread_mutex_lock(&lock);
        if (++decoded == (url_count < 16 ? url_count : 16)) first = seconds();
        pthread_mutex_unlock(&lock);
    }
}

int main(int argument_count, char **arguments) {
    read_arguments(argument_count, arguments);
    images = calloc(url_count, sizeof *images);
    queue = calloc(url_count, sizeof *queue);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    long thread_count = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t network, decoders[thread_count];
    double start = seconds();
    transfers = curl_multi_init();
    curl_multi_setopt(transfers, CURLMOPT_MAX_HOST_CONNECTIONS, (long)CONNECTIONS);
    pthread_create(&network, NULL, download, NULL);
    for (long thread = 0; thread < thread_count; thread++) pthread_create(&decoders[thread], NULL, decode_all, NULL);
    for (long thread = 0; thread < thread_count; thread++) pthread_join(decoders[thread], NULL);
    pthread_join(network, NULL);
    report(start, first, seconds());
    return 0;
}
