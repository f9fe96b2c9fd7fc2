// The calls of libheif, libjxl, librsvg and cairo that decode an image. The libraries are looked up at run time, so that neither
// building nor starting an app needs them. The declarations are those of Debian 12 and, where they differ, of later versions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether a library is installed. A library outside the folders of the dynamic linker is loaded to find out.
bool gwi_library_is_installed(const char *name);

// Decoded pixels: red, green, blue and, if asked for, straight or premultiplied alpha, in bytes or native 16-bit words.
typedef struct gwi_codec_rows {
    const void *start;
    size_t bytes_per_row;
    uint32_t width, height;
    uint8_t bits; // of a channel; 16-bit words may use fewer
} gwi_codec_rows;

// MARK: libheif

// Loads libheif. The bits are the formats that it decodes: 1 AVIF, 2 HEIF.
uint32_t gwi_heif_load(void);

typedef struct gwi_heif gwi_heif;
typedef struct gwi_heif_header {
    uint32_t width, height; // upright and cropped
    uint8_t bits;
    bool has_alpha, is_premultiplied;
} gwi_heif_header;

// Opens a file, whose bytes must stay, and whose images have at most so many pixels a side. NULL without memory.
gwi_heif *gwi_heif_new(const void *bytes, size_t count, uint32_t longest_side);
void gwi_heif_free(gwi_heif *heif);
// Why a call has failed.
const char *gwi_heif_message(const gwi_heif *heif);
// Finds the main image of the file, or its largest thumbnail.
bool gwi_heif_find_image(gwi_heif *heif, bool is_thumbnail, gwi_heif_header *header);
// Finds the first track of a sequence. Versions before 1.20 know none.
bool gwi_heif_find_track(gwi_heif *heif, gwi_heif_header *header);
// The ICC profile of the found image. Returns its size; 0 if there is none.
size_t gwi_heif_profile(gwi_heif *heif, void *bytes, size_t capacity);
// The code points of ITU-T H.273 for the primaries and the transfer function of the decoded image; false if it has none.
bool gwi_heif_code_points(gwi_heif *heif, uint8_t *primaries, uint8_t *transfer);
// Decodes the found image, or the next frame of the track. The rows are valid until the next call.
bool gwi_heif_decode(gwi_heif *heif, bool has_alpha, bool is_deep, gwi_codec_rows *rows);

// MARK: libjxl

// Loads libjxl. False if it is not installed.
bool gwi_jxl_load(void);

typedef struct gwi_jxl gwi_jxl;
typedef struct gwi_jxl_header {
    uint32_t width, height; // as stored
    uint32_t bits;          // of a channel
    uint32_t loops;         // of an animation; 0 is endless
    uint32_t ticks_per_second, divisor; // of a frame's ticks: the first divided by the second
    uint8_t orientation; // as in EXIF
    bool is_float, has_alpha, is_premultiplied, is_animated;
} gwi_jxl_header;

typedef enum gwi_jxl_event {
    GWI_JXL_DAMAGED, GWI_JXL_NEEDS_BYTES, GWI_JXL_HEADER, GWI_JXL_PROFILE, GWI_JXL_FRAME, GWI_JXL_NEEDS_TARGET,
    GWI_JXL_FRAME_DONE, GWI_JXL_END,
} gwi_jxl_event;

// A decoder without bytes, which leaves pixels as they are stored. NULL without memory. Without pixels, it only reports frames.
gwi_jxl *gwi_jxl_new(bool has_pixels);
void gwi_jxl_free(gwi_jxl *jxl);
// Sets the bytes from the first unread one on, which must stay until gwi_jxl_take_back. Returns false if it is out of turn.
bool gwi_jxl_give(gwi_jxl *jxl, const void *bytes, size_t count, bool is_end);
// Ends the use of the bytes. Returns how many at their end are unread.
size_t gwi_jxl_take_back(gwi_jxl *jxl);
gwi_jxl_event gwi_jxl_next(gwi_jxl *jxl);
bool gwi_jxl_read_header(gwi_jxl *jxl, gwi_jxl_header *header);
// The profile of the pixels. Returns its size; 0 if there is none.
size_t gwi_jxl_profile(gwi_jxl *jxl, void *bytes, size_t capacity);
// The duration of the current frame in ticks.
uint32_t gwi_jxl_duration(gwi_jxl *jxl);
// Sets the memory of the current frame: RGB or RGBA, bytes or native 16-bit words, without padding.
bool gwi_jxl_set_target(gwi_jxl *jxl, void *memory, size_t count, bool has_alpha, bool is_deep);
// Writes what has arrived of the current frame into its memory.
bool gwi_jxl_flush(gwi_jxl *jxl);

// MARK: librsvg and cairo

// Loads librsvg and cairo. False if one is not installed.
bool gwi_svg_load(void);

typedef struct gwi_svg gwi_svg;

// Parses a drawing, which reads no file and no network. NULL without memory.
gwi_svg *gwi_svg_new(const void *bytes, size_t count);
void gwi_svg_free(gwi_svg *svg);
// Why a call has failed.
const char *gwi_svg_message(const gwi_svg *svg);
// The size in pixels. False if the file is damaged.
bool gwi_svg_size(gwi_svg *svg, double *width, double *height);
// Draws into cleared memory: rows of width * 4 bytes, premultiplied, blue in the lowest byte of each word.
bool gwi_svg_draw(gwi_svg *svg, void *memory, int width, int height);
