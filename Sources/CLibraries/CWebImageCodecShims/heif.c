#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CWebImageCodecShims.h"

// What heif.h declares. The struct of options has grown at its end; its version says how far.
typedef struct { int code, subcode; const char *message; } heif_error;
typedef struct {
    uint8_t version, ignore_transformations;
    void *progress[4];
    uint8_t convert_hdr_to_8bit, strict_decoding; // 2, 3
    const char *decoder_id;                       // 4
    struct { uint8_t version; int downsampling, upsampling; uint8_t is_strict; } conversion; // 5
    void *cancel_decoding;                        // 6
    void *conversion_extension;                   // 7
    int ignore_sequence_editlist;                 // 8, from 1.21 on
    void *output_image_nclx_profile;
    int num_library_threads, num_codec_threads;
    uint8_t autocorrect_broken_input;             // 9
    uint8_t output_image_nclx_profile_passthrough; // 10
} heif_decoding_options;
typedef struct { uint8_t version; int primaries, transfer, matrix; uint8_t is_full_range; } heif_nclx;
enum { COLORSPACE_RGB = 1, CHROMA_RGB = 10, CHROMA_RGBA = 11, CHROMA_RGB_BE = 12, CHROMA_RGBA_BE = 13 };
enum { CHROMA_RGB_LE = 14, CHROMA_RGBA_LE = 15, CHANNEL_INTERLEAVED = 10, HEVC = 1, AV1 = 4 };

#define FUNCTIONS(F) \
    F(heif_error, init, (void *)) F(int, have_decoder_for_format, (int)) \
    F(void *, context_alloc, (void)) F(void, context_free, (void *)) \
    F(void, context_set_maximum_image_size_limit, (void *, int)) F(void, context_set_max_decoding_threads, (void *, int)) \
    F(heif_error, context_read_from_memory_without_copy, (void *, const void *, size_t, const void *)) \
    F(heif_error, context_get_primary_image_handle, (void *, void **)) \
    F(int, image_handle_get_list_of_thumbnail_IDs, (const void *, uint32_t *, int)) \
    F(heif_error, image_handle_get_thumbnail, (const void *, uint32_t, void **)) F(void, image_handle_release, (const void *)) \
    F(int, image_handle_get_width, (const void *)) F(int, image_handle_get_height, (const void *)) \
    F(int, image_handle_has_alpha_channel, (const void *)) F(int, image_handle_is_premultiplied_alpha, (const void *)) \
    F(int, image_handle_get_luma_bits_per_pixel, (const void *)) \
    F(size_t, image_handle_get_raw_color_profile_size, (const void *)) \
    F(heif_error, image_handle_get_raw_color_profile, (const void *, void *)) \
    F(heif_error, image_handle_get_nclx_color_profile, (const void *, heif_nclx **)) \
    F(heif_error, image_get_nclx_color_profile, (const void *, heif_nclx **)) F(void, nclx_color_profile_free, (heif_nclx *)) \
    F(heif_decoding_options *, decoding_options_alloc, (void)) F(void, decoding_options_free, (heif_decoding_options *)) \
    F(heif_error, decode_image, (const void *, void **, int, int, const heif_decoding_options *)) \
    F(int, image_get_width, (const void *, int)) F(int, image_get_height, (const void *, int)) \
    F(int, image_get_bits_per_pixel_range, (const void *, int)) \
    F(const void *, image_get_plane_readonly, (const void *, int, int *)) F(void, image_release, (const void *))
// From 1.20 on.
#define TRACK_FUNCTIONS(F) \
    F(int, context_has_sequence, (const void *)) F(void *, context_get_track, (const void *, uint32_t)) \
    F(void, track_release, (void *)) F(heif_error, track_get_image_resolution, (const void *, uint16_t *, uint16_t *)) \
    F(heif_error, track_decode_next_image, (void *, void **, int, int, const heif_decoding_options *))
// Later still.
#define LATER_FUNCTIONS(F) F(int, track_has_alpha_channel, (const void *))

#define DECLARE(result, name, arguments) result (*name) arguments;
static struct {
    uint32_t formats;
    bool has_tracks;
    FUNCTIONS(DECLARE) TRACK_FUNCTIONS(DECLARE) LATER_FUNCTIONS(DECLARE)
} heif_;
#define FIND(result, name, arguments) heif_.name = (result (*) arguments)dlsym(library, "heif_" #name);
#define IS_FOUND(result, name, arguments) && heif_.name

static void load(void) {
    void *library = dlopen("libheif.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    FUNCTIONS(FIND) TRACK_FUNCTIONS(FIND) LATER_FUNCTIONS(FIND)
    if (!(true FUNCTIONS(IS_FOUND))) return;
    heif_.has_tracks = true TRACK_FUNCTIONS(IS_FOUND);
    // Decoders may be plugins, which this loads. They stay loaded.
    heif_.init(NULL);
    if (heif_.have_decoder_for_format(AV1)) heif_.formats |= 1;
    if (heif_.have_decoder_for_format(HEVC)) heif_.formats |= 2;
}

uint32_t gwi_heif_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return heif_.formats;
}

struct gwi_heif {
    void *context, *handle, *track, *image;
    char message[200];
};

static bool succeeds(gwi_heif *heif, heif_error error) {
    if (error.code != 0) snprintf(heif->message, sizeof heif->message, "%s", error.message ? error.message : "no cause is known");
    return error.code == 0;
}

gwi_heif *gwi_heif_new(const void *bytes, size_t count, uint32_t longest_side) {
    gwi_heif *heif = calloc(1, sizeof *heif);
    if (!heif || !(heif->context = heif_.context_alloc())) { free(heif); return NULL; }
    // Versions before 1.19 compare the limit with each side, later ones its square with the pixels. The size of a grid is in its own
    // data, and the sizes that version 1.15 computes of more than 16384 x 16384 pixels overflow.
    heif_.context_set_maximum_image_size_limit(heif->context, longest_side < 16384 ? (int)longest_side : 16384);
    // Images are decoded side by side already.
    heif_.context_set_max_decoding_threads(heif->context, 0);
    succeeds(heif, heif_.context_read_from_memory_without_copy(heif->context, bytes, count, NULL));
    return heif;
}

static void forget(gwi_heif *heif) {
    if (heif->image) heif_.image_release(heif->image);
    if (heif->handle) heif_.image_handle_release(heif->handle);
    if (heif->track) heif_.track_release(heif->track);
    heif->image = heif->handle = heif->track = NULL;
}

void gwi_heif_free(gwi_heif *heif) {
    forget(heif);
    heif_.context_free(heif->context);
    free(heif);
}

const char *gwi_heif_message(const gwi_heif *heif) { return heif->message; }

bool gwi_heif_find_image(gwi_heif *heif, bool is_thumbnail, gwi_heif_header *header) {
    forget(heif);
    if (heif->message[0] || !succeeds(heif, heif_.context_get_primary_image_handle(heif->context, &heif->handle))) return false;
    if (is_thumbnail) {
        uint32_t names[16];
        int count = heif_.image_handle_get_list_of_thumbnail_IDs(heif->handle, names, 16);
        void *largest = NULL;
        for (int index = 0; index < count; index++) {
            void *thumbnail = NULL;
            if (heif_.image_handle_get_thumbnail(heif->handle, names[index], &thumbnail).code != 0) continue;
            bool is_larger = !largest || heif_.image_handle_get_width(thumbnail) > heif_.image_handle_get_width(largest);
            void *other = is_larger ? largest : thumbnail;
            if (is_larger) largest = thumbnail;
            if (other) heif_.image_handle_release(other);
        }
        if (!largest) return false;
        heif_.image_handle_release(heif->handle);
        heif->handle = largest;
    }
    int width = heif_.image_handle_get_width(heif->handle), height = heif_.image_handle_get_height(heif->handle);
    int bits = heif_.image_handle_get_luma_bits_per_pixel(heif->handle);
    *header = (gwi_heif_header){
        .width = width > 0 ? (uint32_t)width : 0,
        .height = height > 0 ? (uint32_t)height : 0,
        .bits = bits > 0 ? (uint8_t)bits : 8,
        .has_alpha = heif_.image_handle_has_alpha_channel(heif->handle),
        .is_premultiplied = heif_.image_handle_is_premultiplied_alpha(heif->handle),
    };
    return true;
}

bool gwi_heif_find_track(gwi_heif *heif, gwi_heif_header *header) {
    if (heif->message[0] || !heif_.has_tracks || !heif_.context_has_sequence(heif->context)) return false;
    forget(heif);
    uint16_t width = 0, height = 0;
    heif->track = heif_.context_get_track(heif->context, 0);
    if (!heif->track || !succeeds(heif, heif_.track_get_image_resolution(heif->track, &width, &height))) return false;
    bool has_alpha = heif_.track_has_alpha_channel && heif_.track_has_alpha_channel(heif->track);
    *header = (gwi_heif_header){ .width = width, .height = height, .bits = 8, .has_alpha = has_alpha };
    return true;
}

size_t gwi_heif_profile(gwi_heif *heif, void *bytes, size_t capacity) {
    if (!heif->handle) return 0;
    size_t count = heif_.image_handle_get_raw_color_profile_size(heif->handle);
    if (bytes && count <= capacity && heif_.image_handle_get_raw_color_profile(heif->handle, bytes).code != 0) return 0;
    return count;
}

bool gwi_heif_code_points(gwi_heif *heif, uint8_t *primaries, uint8_t *transfer) {
    heif_nclx *nclx = NULL;
    heif_error error = { 0 };
    if (heif->handle) error = heif_.image_handle_get_nclx_color_profile(heif->handle, &nclx);
    // A file may have them in the stream of the codec only.
    if (!nclx && heif->image) error = heif_.image_get_nclx_color_profile(heif->image, &nclx);
    if (!nclx) return false;
    *primaries = (uint8_t)nclx->primaries;
    *transfer = (uint8_t)nclx->transfer;
    // Unknown code points are an error with a profile.
    heif_.nclx_color_profile_free(nclx);
    return error.code == 0;
}

bool gwi_heif_decode(gwi_heif *heif, bool has_alpha, bool is_deep, gwi_codec_rows *rows) {
    if (heif->image) heif_.image_release(heif->image);
    heif->image = NULL;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    int deep = has_alpha ? CHROMA_RGBA_LE : CHROMA_RGB_LE;
#else
    int deep = has_alpha ? CHROMA_RGBA_BE : CHROMA_RGB_BE;
#endif
    int chroma = is_deep ? deep : has_alpha ? CHROMA_RGBA : CHROMA_RGB;
    heif_decoding_options *options = heif_.decoding_options_alloc();
    if (!options) return false;
    if (options->version >= 2) options->convert_hdr_to_8bit = !is_deep;
    // An endless track would have no last frame.
    if (options->version >= 8) options->ignore_sequence_editlist = options->num_codec_threads = 1;
    // The library converts colors itself.
    if (options->version >= 10) options->output_image_nclx_profile_passthrough = 1;
    heif_error error =
        heif->track ? heif_.track_decode_next_image(heif->track, &heif->image, COLORSPACE_RGB, chroma, options)
                    : heif_.decode_image(heif->handle, &heif->image, COLORSPACE_RGB, chroma, options);
    heif_.decoding_options_free(options);
    if (!succeeds(heif, error) || !heif->image) return false;
    int width = heif_.image_get_width(heif->image, CHANNEL_INTERLEAVED), stride = 0;
    int height = heif_.image_get_height(heif->image, CHANNEL_INTERLEAVED);
    const void *start = heif_.image_get_plane_readonly(heif->image, CHANNEL_INTERLEAVED, &stride);
    int bits = heif_.image_get_bits_per_pixel_range(heif->image, CHANNEL_INTERLEAVED);
    if (!start || width <= 0 || height <= 0 || stride <= 0 || bits < 8 || bits > 16 || (bits > 8) != is_deep) {
        snprintf(heif->message, sizeof heif->message, "libheif gives pixels of another kind");
        return false;
    }
    *rows = (gwi_codec_rows){ start, (size_t)stride, (uint32_t)width, (uint32_t)height, (uint8_t)bits };
    return true;
}
