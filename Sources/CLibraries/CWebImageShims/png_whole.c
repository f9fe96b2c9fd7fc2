#include "png_whole.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

// The bytes behind the pixels that a load of four of them may touch.
enum { spare_count = 4 };

// Copies of these functions exist for each size of a pixel.
#define INLINE static inline __attribute__((always_inline))

typedef uint8_t bytes4 __attribute__((vector_size(4)));
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef int16_t shorts4 __attribute__((vector_size(8)));

INLINE shorts4 load(const uint8_t *bytes) {
    bytes4 four;
    memcpy(&four, bytes, 4);
    return __builtin_convertvector(four, shorts4);
}

INLINE void store(uint8_t *target, shorts4 samples, size_t count) {
    bytes4 four = __builtin_convertvector(samples, bytes4);
    memcpy(target, &four, count);
}

INLINE shorts4 magnitude(shorts4 value) {
    shorts4 sign = value >> 15;
    return (value ^ sign) - sign;
}

INLINE shorts4 choose(shorts4 mask, shorts4 yes, shorts4 no) {
    return (mask & yes) | (~mask & no);
}

// The filters of PNG (PNG specification, section 9.2). The target is the source or lies before it and may overlap with it, so that
// every byte is read before it is written. `count` is the size of a pixel, of which a load takes four bytes.
INLINE void undo_sub(uint8_t *target, const uint8_t *source, size_t length, size_t count) {
    shorts4 left = {0};
    for (size_t index = 0; index < length; index += count) {
        left = (left + load(source + index)) & 0xff;
        store(target + index, left, count);
    }
}

static void undo_up(uint8_t *target, const uint8_t *source, const uint8_t *above, size_t length) {
    size_t index = 0;
    for (; index + sizeof(bytes16) <= length; index += sizeof(bytes16)) {
        bytes16 sum, up;
        memcpy(&sum, source + index, sizeof sum);
        memcpy(&up, above + index, sizeof up);
        sum += up;
        memcpy(target + index, &sum, sizeof sum);
    }
    for (; index < length; index++) target[index] = (uint8_t)(source[index] + above[index]);
}

INLINE void undo_average(uint8_t *target, const uint8_t *source, const uint8_t *above, size_t length, size_t count) {
    shorts4 left = {0};
    for (size_t index = 0; index < length; index += count) {
        left = (load(source + index) + ((left + load(above + index)) >> 1)) & 0xff;
        store(target + index, left, count);
    }
}

INLINE void undo_paeth(uint8_t *target, const uint8_t *source, const uint8_t *above, size_t length, size_t count) {
    shorts4 left = {0}, corner = {0};
    for (size_t index = 0; index < length; index += count) {
        shorts4 up = load(above + index);
        shorts4 vertical = up - corner, horizontal = left - corner;
        shorts4 to_left = magnitude(vertical), to_up = magnitude(horizontal), to_corner = magnitude(vertical + horizontal);
        shorts4 nearest = choose(to_corner < to_up, corner, up);
        shorts4 least = choose(to_corner < to_up, to_corner, to_up);
        left = (load(source + index) + choose(least < to_left, nearest, left)) & 0xff;
        corner = up;
        store(target + index, left, count);
    }
}

INLINE bool undo(uint8_t type, uint8_t *target, const uint8_t *source, const uint8_t *above, size_t length, size_t count) {
    switch (type) {
        case 0: memmove(target, source, length); return true;
        case 1: undo_sub(target, source, length, count); return true;
        case 2: undo_up(target, source, above, length); return true;
        case 3: undo_average(target, source, above, length, count); return true;
        case 4: undo_paeth(target, source, above, length, count); return true;
        default: return false;
    }
}

static bool undo_filter(uint8_t type, uint8_t *target, const uint8_t *source, const uint8_t *above, size_t length, size_t count) {
    switch (count) {
        case 1: return undo(type, target, source, above, length, 1);
        case 2: return undo(type, target, source, above, length, 2);
        case 3: return undo(type, target, source, above, length, 3);
        default: return undo(type, target, source, above, length, 4);
    }
}

// The contents of consecutive IDAT chunks. There are no bytes when there is no memory, or more of them than rows can need.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    // Set when there is more than one chunk.
    uint8_t *copy;
} compressed;

static uint32_t number(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Returns the length of the IDAT chunk at an offset; -1 when there is none.
static ptrdiff_t pixels_at(const gwi_png_layout *file, size_t offset) {
    if (offset > file->count || file->count - offset < 12) return -1;
    const uint8_t *chunk = file->data + offset;
    uint32_t length = number(chunk);
    if (memcmp(chunk + 4, "IDAT", 4) != 0 || length > file->count - offset - 12) return -1;
    return (ptrdiff_t)length;
}

// Returns the most bytes that a stream of so many bytes can need: deflate stores what it cannot compress, with five bytes for
// each 65,535 (RFC 1951, section 3.2.4). Encoders differ by some bytes, which the last summand covers.
static size_t longest_stream(size_t count) { return count + count / 1000 + (64 << 10); }

// A copy of more than the bytes of the rows can need would be memory that nothing has counted (PNGHeader.swift).
static compressed collect(const gwi_png_layout *file, size_t rows_count) {
    compressed pixels = {0};
    size_t count = 0, total = 0;
    ptrdiff_t length;
    for (size_t offset = file->offset; (length = pixels_at(file, offset)) >= 0; offset += 12 + (size_t)length) {
        count++;
        total += (size_t)length;
    }
    pixels.bytes = file->data + file->offset + 8;
    pixels.count = total;
    if (count < 2) return pixels;
    if (total <= longest_stream(rows_count)) pixels.copy = malloc(total);
    pixels.bytes = pixels.copy;
    if (!pixels.copy) pixels.count = 0;
    size_t offset = file->offset;
    for (uint8_t *end = pixels.copy; end && count > 0; count--) {
        size_t part = number(file->data + offset);
        end = (uint8_t *)memcpy(end, file->data + offset + 8, part) + part;
        offset += 12 + part;
    }
    return pixels;
}

// Inflates into memory that the rows fill.
static bool inflate_rows(const gwi_png_layout *file, uint8_t *rows, size_t count) {
    compressed pixels = collect(file, count);
    bool is_sound = false;
    // zlib refuses a distance beyond the window that the stream announces, libdeflate does not look at the window.
    size_t window = pixels.count > 0 ? (size_t)256 << (pixels.bytes[0] >> 4) : 0;
    if (window >= 32768 || window >= count) {
        struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
        is_sound = decompressor
            && libdeflate_zlib_decompress(decompressor, pixels.bytes, pixels.count, rows, count, NULL) == LIBDEFLATE_SUCCESS;
        libdeflate_free_decompressor(decompressor);
    }
    free(pixels.copy);
    return is_sound;
}

// Expands a row of samples to RGB or RGBA.
static void expand(const gwi_png_layout *file, uint8_t *target, const uint8_t *source) {
    uint32_t width = file->width;
    bool is_palette = file->type == 3;
    if (file->type == 4) {
        for (uint32_t x = 0; x < width; x++, source += 2, target += 4) {
            uint8_t grey = source[0], alpha = source[1];
            target[0] = target[1] = target[2] = grey;
            target[3] = alpha;
        }
    } else if (file->type == 2) {
        // Only for a transparent colour.
        for (uint32_t x = 0; x < width; x++, source += 3, target += 4) {
            uint8_t red = source[0], green = source[1], blue = source[2];
            bool is_key = red == file->key[0] && green == file->key[1] && blue == file->key[2];
            target[0] = red, target[1] = green, target[2] = blue, target[3] = is_key ? 0 : 255;
        }
    } else {
        unsigned depth = file->depth, mask = (1u << depth) - 1, scale = 255 / mask;
        for (uint32_t x = 0; x < width; x++) {
            unsigned bit = x * (size_t)depth % 8;
            unsigned sample = source[x * (size_t)depth / 8] >> (8 - depth - bit) & mask;
            uint8_t color[4];
            if (is_palette) {
                memcpy(color, file->palette[sample], 4);
            } else {
                uint8_t grey = (uint8_t)(sample * scale);
                color[0] = color[1] = color[2] = grey;
                color[3] = grey == file->key[0] ? 0 : 255;
            }
            size_t count = file->has_alpha ? 4 : 3;
            memcpy(target, color, count);
            target += count;
        }
    }
}

// The width has 32 bits and a pixel 32 at most, so that their product fits.
_Static_assert(sizeof(size_t) >= 8 && sizeof(((gwi_png_layout *)0)->width) == 4, "the bits of a row overflow");

uint8_t *gwi_png_decode_whole(const gwi_png_layout *file) {
    static const uint8_t channels[7] = {1, 0, 3, 1, 2, 0, 4};
    size_t width = file->width, height = file->height;
    size_t bits = (size_t)channels[file->type % 7] * file->depth;
    size_t size = (bits + 7) / 8, length = (width * bits + 7) / 8;
    size_t stride = width * (file->has_alpha ? 4 : 3);
    bool is_expanded = stride != length || file->type == 3 || file->type == 0;
    // Rows are inflated with their filter types to the end of the memory, and expanded from its start: no row is overwritten
    // before it is read.
    size_t count, total;
    if (__builtin_mul_overflow(length + 1, height, &count)) return NULL;
    if (__builtin_mul_overflow((stride > length ? stride : length) + 1, height, &total)) return NULL;
    if (total > SIZE_MAX - spare_count) return NULL;
    uint8_t *memory = malloc(total + spare_count);
    uint8_t *zeros = calloc(1, length + spare_count);
    bool is_read = memory && zeros && inflate_rows(file, memory + total - count, count);
    if (is_read) {
        memset(memory + total, 0, spare_count);
        const uint8_t *source = memory + total - count, *above = zeros;
        for (size_t y = 0; is_read && y < height; y++, source += length + 1) {
            // Rows that need no other change are moved together.
            uint8_t *target = is_expanded ? (uint8_t *)source + 1 : memory + y * stride;
            is_read = undo_filter(source[0], target, source + 1, above, length, size);
            if (is_expanded && y > 0) expand(file, memory + (y - 1) * stride, above);
            above = target;
        }
        if (is_read && is_expanded) expand(file, memory + (height - 1) * stride, above);
    }
    free(zeros);
    if (is_read) return memory;
    free(memory);
    return NULL;
}
