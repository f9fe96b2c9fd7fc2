#include "CWebImageShims.h"
#include "png_whole.h"

#include <ctype.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of the optional chunks only these are used. libpng would keep the text of all others, inflated: 8 MB for each of a thousand.
static const char used_chunks[][5] = {"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "iCCP"};
// What libpng takes of a profile, the longest of these but for pixels.
static const uint32_t longest_chunk = 8000000;

// The place in an arriving file, of which libpng gets only the chunks that are used: it collects each chunk as a whole, in memory
// that it copies for every piece.
struct chunk_filter {
    uint8_t start[8];
    // The number of bytes of `start` that are there: the signature of the file or the length and the name of a chunk.
    size_t start_count;
    // What is left of the current chunk, with its checksum.
    uint64_t rest;
    // The last byte of a chunk of pixels and its checksum, which wait for the next one: with a wrong sum of all pixels, which takes four
    // bytes, libpng would not deliver the last row.
    uint8_t held[5];
    size_t held_count;
    bool has_signature;
    bool has_pixels;
    bool is_used;
    // Whether the rest of the file does not matter, for its end or a chunk that nothing reads.
    bool has_ended;
};

// libpng reports errors by longjmp, which must never cross a Swift frame.
struct gwi_png {
    png_structp reader;
    png_infop info;
    // The pixels are written to these rows.
    uint8_t *target;
    size_t stride;
    bool has_header;
    // Whether channels of 16 bits are kept.
    bool keeps_depth;
    bool is_deep;
    // For files that can be decoded in one go.
    bool is_simple;
    gwi_png_layout layout;
    gwi_png_progress progress;
    struct chunk_filter filter;
    jmp_buf failed;
    char message[128];
};

static void fail(png_structp reader, png_const_charp message) {
    gwi_png *png = png_get_error_ptr(reader);
    strncpy(png->message, message, sizeof png->message - 1);
    longjmp(png->failed, 1);
}

static void ignore(png_structp reader, png_const_charp message) {
    (void)reader, (void)message;
}

static void begin_pixels(png_structp reader, png_infop info);
static void take_row(png_structp reader, png_bytep row, png_uint_32 y, int pass);

gwi_png *gwi_png_new(void) {
    gwi_png *png = calloc(1, sizeof *png);
    if (!png) return NULL;
    png->reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, png, fail, ignore);
    png->info = png->reader ? png_create_info_struct(png->reader) : NULL;
    if (!png->info) {
        gwi_png_free(png);
        return NULL;
    }
    png_set_user_limits(png->reader, 0x7fffffff, 0x7fffffff);
    // With -1, all optional chunks are left out unread but for tRNS.
    png_set_keep_unknown_chunks(png->reader, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png->reader, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "iCCP", 1);
    png_set_progressive_read_fn(png->reader, png, begin_pixels, take_row, NULL);
    return png;
}

void gwi_png_free(gwi_png *png) {
    if (!png) return;
    if (png->reader) png_destroy_read_struct(&png->reader, png->info ? &png->info : NULL, NULL);
    free(png);
}

const char *gwi_png_message(const gwi_png *png) { return png->message; }

// Sets the layout of the pixels, once the header is read.
static void set_layout(gwi_png *png) {
    int type = png_get_color_type(png->reader, png->info);
    png->is_deep = png_get_bit_depth(png->reader, png->info) == 16;
    // Every file becomes red, green and blue, with alpha if there is any.
    png_set_expand(png->reader);
    if (!png->keeps_depth) png_set_scale_16(png->reader);
    if (png->keeps_depth && G_BYTE_ORDER == G_LITTLE_ENDIAN) png_set_swap(png->reader);
    if (!(type & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(png->reader);
    png_set_interlace_handling(png->reader);
    png_read_update_info(png->reader, png->info);
    png->has_header = true;
}

bool gwi_png_header(gwi_png *png, uint32_t *width, uint32_t *height, bool *has_alpha) {
    if (!png->has_header) return false;
    *width = png_get_image_width(png->reader, png->info);
    *height = png_get_image_height(png->reader, png->info);
    // The layout has an alpha channel for the type of the file or its transparent colours.
    *has_alpha = png_get_color_type(png->reader, png->info) & PNG_COLOR_MASK_ALPHA;
    return true;
}

// Notes what the header says about the samples, before libpng changes it to what it makes of them.
static void note_samples(gwi_png *png) {
    gwi_png_layout *layout = &png->layout;
    layout->depth = png_get_bit_depth(png->reader, png->info);
    layout->type = png_get_color_type(png->reader, png->info);
    png->is_simple = layout->depth <= 8 && png_get_interlace_type(png->reader, png->info) == PNG_INTERLACE_NONE;
    if (!png->is_simple) return;
    png_colorp colors = NULL;
    png_bytep alphas = NULL;
    png_color_16p key = NULL;
    int color_count = 0, alpha_count = 0;
    if (layout->type == PNG_COLOR_TYPE_PALETTE) png_get_PLTE(png->reader, png->info, &colors, &color_count);
    png_get_tRNS(png->reader, png->info, &alphas, &alpha_count, &key);
    for (int index = 0; index < 256; index++) {
        uint8_t *color = layout->palette[index];
        if (index < color_count) color[0] = colors[index].red, color[1] = colors[index].green, color[2] = colors[index].blue;
        color[3] = alphas && index < alpha_count ? alphas[index] : 255;
    }
    if (key && layout->type == PNG_COLOR_TYPE_GRAY) {
        unsigned mask = (1u << layout->depth) - 1;
        layout->key[0] = (uint8_t)((key->gray & mask) * (255 / mask));
    } else if (key && layout->type == PNG_COLOR_TYPE_RGB) {
        layout->key[0] = (uint8_t)key->red, layout->key[1] = (uint8_t)key->green, layout->key[2] = (uint8_t)key->blue;
    }
}

bool gwi_png_is_deep(const gwi_png *png) { return png->is_deep; }

void gwi_png_keep_depth(gwi_png *png) { png->keeps_depth = true; }

bool gwi_png_profile(gwi_png *png, const uint8_t **profile, uint32_t *count) {
    png_charp name;
    png_bytep bytes;
    int compression;
    if (!png_get_iCCP(png->reader, png->info, &name, &compression, &bytes, count)) return false;
    *profile = bytes;
    return true;
}

uint8_t *gwi_png_decode(gwi_png *png, const uint8_t *data, size_t count, size_t offset) {
    gwi_png_layout *layout = &png->layout;
    if (!png->is_simple || !gwi_png_header(png, &layout->width, &layout->height, &layout->has_alpha)) return NULL;
    layout->data = data;
    layout->count = count;
    layout->offset = offset;
    return gwi_png_decode_whole(layout);
}

static void begin_pixels(png_structp reader, png_infop info) {
    (void)info;
    // As in browsers, damage shows. The header and the palette are read, and their sums were right.
    png_set_crc_action(reader, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
    note_samples(png_get_progressive_ptr(reader));
    set_layout(png_get_progressive_ptr(reader));
    png_process_data_pause(reader, 1);
}

static void take_row(png_structp reader, png_bytep row, png_uint_32 y, int pass) {
    gwi_png *png = png_get_progressive_ptr(reader);
    if (!png->target || png->stride < png_get_rowbytes(reader, png->info)) png_error(reader, "there is no target");
    uint32_t height = png_get_image_height(reader, png->info);
    if (y >= height) return;
    // Pixels of later passes are filled with those of earlier ones.
    png_progressive_combine_row(reader, png->target + y * png->stride, row);
    png->progress.count++;
    png->progress.rows = pass > 0 ? height : y + 1;
    if (png_get_interlace_type(reader, png->info) == PNG_INTERLACE_NONE) png->progress.is_done = y + 1 == height;
}

// Begins the chunk of filter->start, of which libpng gets everything or nothing.
static void begin_chunk(struct chunk_filter *filter) {
    const uint8_t *name = filter->start + 4;
    uint32_t length = png_get_uint_32(filter->start);
    filter->rest = (uint64_t)length + 4;
    filter->is_used = false;
    for (size_t index = 0; index < sizeof used_chunks / sizeof *used_chunks; index++) {
        if (memcmp(name, used_chunks[index], 4) == 0) filter->is_used = true;
    }
    bool is_optional = name[0] & 0x20;
    filter->has_ended = memcmp(name, "IEND", 4) == 0 || (!filter->is_used && !is_optional);
    bool is_pixels = memcmp(name, "IDAT", 4) == 0;
    // libpng reads pixels piece by piece, and ends at other chunks between them. An empty one would bring it the sum.
    if (is_pixels ? filter->has_pixels && length == 0 : length > longest_chunk || filter->has_pixels) filter->is_used = false;
    if (is_pixels) filter->has_pixels = true;
}

// Copies what libpng gets of the next bytes, and returns its length.
static size_t filter_chunks(struct chunk_filter *filter, const uint8_t *bytes, size_t count, uint8_t *passed) {
    uint8_t *end = passed;
    while (count > 0 && !filter->has_ended) {
        size_t piece;
        if (filter->rest) {
            piece = filter->rest < count ? (size_t)filter->rest : count;
            filter->rest -= piece;
            size_t kept = filter->has_pixels && filter->rest < 5 ? 5 - (size_t)filter->rest - filter->held_count : 0;
            if (kept > piece) kept = piece;
            if (filter->is_used) {
                end = (uint8_t *)memcpy(end, bytes, piece - kept) + piece - kept;
                memcpy(filter->held + filter->held_count, bytes + piece - kept, kept);
                filter->held_count += kept;
            }
        } else {
            size_t missing = sizeof filter->start - filter->start_count;
            piece = missing < count ? missing : count;
            memcpy(filter->start + filter->start_count, bytes, piece);
            filter->start_count += piece;
            if (filter->start_count == sizeof filter->start) {
                if (filter->has_signature) begin_chunk(filter);
                if (!filter->has_signature || filter->is_used) {
                    end = (uint8_t *)memcpy(end, filter->held, filter->held_count) + filter->held_count;
                    filter->held_count = 0;
                    end = (uint8_t *)memcpy(end, filter->start, sizeof filter->start) + sizeof filter->start;
                }
                filter->has_signature = true;
                filter->start_count = 0;
            }
        }
        bytes += piece;
        count -= piece;
    }
    return (size_t)(end - passed);
}

static bool process(gwi_png *png, uint8_t *bytes, size_t count) {
    if (setjmp(png->failed)) return false;
    png_process_data(png->reader, png->info, bytes, count);
    if (!png->target || !png->filter.has_ended) return true;
    // Where no sum follows the pixels, what waits for the next chunk is the last of them.
    png_process_data(png->reader, png->info, png->filter.held, png->filter.held_count);
    png->filter.held_count = 0;
    return true;
}

bool gwi_png_append(gwi_png *png, const uint8_t *bytes, size_t count) {
    // Without bytes libpng goes on with those that it has kept.
    if (count == 0) return process(png, NULL, 0);
    // The start of a chunk of which a part came earlier can make it longer.
    uint8_t *passed = malloc(count + sizeof png->filter.start + sizeof png->filter.held);
    if (!passed) {
        strcpy(png->message, "there is no memory");
        return false;
    }
    size_t length = filter_chunks(&png->filter, bytes, count, passed);
    bool is_sound = (length == 0 && !png->target) || process(png, passed, length);
    free(passed);
    if (!is_sound || !png->filter.has_ended || png->filter.has_pixels) return is_sound;
    const uint8_t *name = png->filter.start + 4;
    bool is_name = isalpha(name[0]) && isalpha(name[1]) && isalpha(name[2]) && isalpha(name[3]);
    snprintf(png->message, sizeof png->message, "nothing reads its chunk %.4s", is_name ? (const char *)name : "????");
    return false;
}

void gwi_png_set_target(gwi_png *png, uint8_t *target, size_t stride) {
    png->target = target;
    png->stride = stride;
}

void gwi_png_get_progress(const gwi_png *png, gwi_png_progress *progress) {
    *progress = png->progress;
    // There are seven passes, the last of which can have no row.
    if (png->target && png_get_current_pass_number(png->reader) >= 7) progress->is_done = true;
}

bool gwi_png_write(const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha, uint8_t **data, size_t *count) {
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
    image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    if (stride > INT32_MAX) return false;
    // The most that the file can take, of which little is ever touched.
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    *data = malloc(size);
    if (!*data) return false;
    if (!png_image_write_to_memory(&image, *data, &size, 0, pixels, (png_int_32)stride, NULL)) {
        free(*data);
        return false;
    }
    uint8_t *fitting = realloc(*data, size);
    if (fitting) *data = fitting;
    *count = size;
    return true;
}
