#include "CWebImageShims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

// TIFFGetField and TIFFSetField are variadic, and so are the functions that receive errors. Those of a single file, which
// TIFFOpenOptions has, leave the process-wide ones alone.

struct gwi_tiff {
    TIFF *reader;
    uint8_t *data;
    uint64_t count;
    uint64_t offset;
    char message[200];
};

static int keep_message(TIFF *reader, void *context, const char *module, const char *format, va_list arguments) {
    gwi_tiff *tiff = context;
    (void)reader;
    (void)module;
    // The first message is the cause.
    if (!tiff->message[0]) vsnprintf(tiff->message, sizeof tiff->message, format, arguments);
    return 1;
}

static int ignore(TIFF *reader, void *context, const char *module, const char *format, va_list arguments) {
    (void)reader;
    (void)context;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

static tmsize_t read_bytes(thandle_t handle, void *target, tmsize_t count) {
    gwi_tiff *tiff = handle;
    if (count < 0 || tiff->offset >= tiff->count) return 0;
    uint64_t left = tiff->count - tiff->offset;
    size_t taken = (uint64_t)count < left ? (size_t)count : (size_t)left;
    memcpy(target, tiff->data + tiff->offset, taken);
    tiff->offset += taken;
    return (tmsize_t)taken;
}

static tmsize_t write_nothing(thandle_t handle, void *source, tmsize_t count) {
    (void)handle;
    (void)source;
    (void)count;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    gwi_tiff *tiff = handle;
    if (whence == SEEK_CUR) offset += tiff->offset;
    if (whence == SEEK_END) offset += tiff->count;
    return tiff->offset = offset;
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t get_size(thandle_t handle) { return ((gwi_tiff *)handle)->count; }

static int map(thandle_t handle, void **base, toff_t *size) {
    gwi_tiff *tiff = handle;
    *base = tiff->data;
    *size = tiff->count;
    return 1;
}

static void unmap(thandle_t handle, void *base, toff_t size) {
    (void)handle;
    (void)base;
    (void)size;
}

gwi_tiff *gwi_tiff_new(const uint8_t *data, size_t count, size_t memory_limit) {
    gwi_tiff *tiff = calloc(1, sizeof *tiff);
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!tiff || !options) {
        free(tiff);
        if (options) TIFFOpenOptionsFree(options);
        return NULL;
    }
    tiff->data = (uint8_t *)data;
    tiff->count = count;
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, tiff);
    TIFFOpenOptionsSetWarningHandlerExtR(options, ignore, tiff);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)memory_limit);
    tiff->reader = TIFFClientOpenExt(
        "image", "r", tiff, read_bytes, write_nothing, seek, close_nothing, get_size, map, unmap, options
    );
    TIFFOpenOptionsFree(options);
    return tiff;
}

void gwi_tiff_free(gwi_tiff *tiff) {
    if (tiff->reader) TIFFClose(tiff->reader);
    free(tiff);
}

const char *gwi_tiff_message(const gwi_tiff *tiff) { return tiff->message; }

static uint16_t get_short(gwi_tiff *tiff, uint32_t tag) {
    uint16_t value = 0;
    return TIFFGetFieldDefaulted(tiff->reader, tag, &value) ? value : 0;
}

static uint16_t find_photometric(gwi_tiff *tiff, int colors) {
    uint16_t photometric = 0;
    if (TIFFGetField(tiff->reader, TIFFTAG_PHOTOMETRIC, &photometric)) return photometric;
    uint16_t compression = get_short(tiff, TIFFTAG_COMPRESSION);
    bool is_fax = compression >= COMPRESSION_CCITTRLE && compression <= COMPRESSION_CCITT_T6;
    if (is_fax || compression == COMPRESSION_CCITTRLEW) return PHOTOMETRIC_MINISWHITE;
    return colors == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB;
}

bool gwi_tiff_read_header(gwi_tiff *tiff, gwi_tiff_header *header) {
    TIFF *reader = tiff->reader;
    if (!reader) return false;
    TIFFGetField(reader, TIFFTAG_IMAGEWIDTH, &header->width);
    TIFFGetField(reader, TIFFTAG_IMAGELENGTH, &header->height);
    header->bit_count = get_short(tiff, TIFFTAG_BITSPERSAMPLE);
    header->sample_count = get_short(tiff, TIFFTAG_SAMPLESPERPIXEL);
    header->sample_format = get_short(tiff, TIFFTAG_SAMPLEFORMAT);
    header->is_planar = get_short(tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE && header->sample_count > 1;
    header->orientation = get_short(tiff, TIFFTAG_ORIENTATION);
    header->ink_set = get_short(tiff, TIFFTAG_INKSET);
    uint32_t kind = 0;
    uint16_t count = 0;
    void *found = NULL;
    TIFFGetField(reader, TIFFTAG_SUBFILETYPE, &kind);
    header->is_raw_photo = TIFFGetField(reader, TIFFTAG_DNGVERSION, &found)
        || (tiff->count > 10 && memcmp(tiff->data + 8, "CR\2", 3) == 0)
        || ((kind & FILETYPE_REDUCEDIMAGE) && TIFFGetField(reader, TIFFTAG_SUBIFD, &count, &found));

    uint16_t extra_count = 0;
    uint16_t *extra = NULL;
    TIFFGetFieldDefaulted(reader, TIFFTAG_EXTRASAMPLES, &extra_count, &extra);
    int colors = header->sample_count - extra_count;
    for (int index = 0; index < extra_count && !header->has_alpha; index++) {
        if (extra[index] == EXTRASAMPLE_UNSPECIFIED) continue;
        header->has_alpha = true;
        header->alpha_index = (uint16_t)(colors + index);
        header->is_premultiplied = extra[index] == EXTRASAMPLE_ASSOCALPHA;
    }
    header->photometric = find_photometric(tiff, colors);
    if (header->photometric == PHOTOMETRIC_YCBCR && !header->is_planar
        && get_short(tiff, TIFFTAG_COMPRESSION) == COMPRESSION_JPEG) {
        // libjpeg converts to red, green and blue.
        TIFFSetField(reader, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        header->photometric = PHOTOMETRIC_RGB;
    }
    float *white = NULL;
    header->has_paper_white = !TIFFGetField(reader, TIFFTAG_WHITEPOINT, &white) || !white
        || (fabsf(white[0] - 0.3457F) < 0.002F && fabsf(white[1] - 0.3585F) < 0.002F);
    uint16_t *red = NULL, *green = NULL, *blue = NULL;
    if (header->photometric == PHOTOMETRIC_PALETTE && TIFFGetField(reader, TIFFTAG_COLORMAP, &red, &green, &blue)) {
        header->red = red;
        header->green = green;
        header->blue = blue;
    }
    header->is_tiled = TIFFIsTiled(reader);
    header->segment_width = header->width;
    if (header->is_tiled) {
        TIFFGetField(reader, TIFFTAG_TILEWIDTH, &header->segment_width);
        TIFFGetField(reader, TIFFTAG_TILELENGTH, &header->segment_height);
        header->segment_size = TIFFTileSize64(reader);
    } else {
        TIFFGetFieldDefaulted(reader, TIFFTAG_ROWSPERSTRIP, &header->segment_height);
        if (header->segment_height > header->height) header->segment_height = header->height;
        header->segment_size = TIFFVStripSize64(reader, header->segment_height);
    }
    return true;
}

bool gwi_tiff_profile(gwi_tiff *tiff, const uint8_t **profile, uint32_t *count) {
    void *bytes = NULL;
    if (!TIFFGetField(tiff->reader, TIFFTAG_ICCPROFILE, count, &bytes)) return false;
    *profile = bytes;
    return true;
}

bool gwi_tiff_read_strip(gwi_tiff *tiff, gwi_tiff_position position, uint8_t *target, size_t count) {
    uint32_t strip = TIFFComputeStrip(tiff->reader, position.y, position.sample);
    return TIFFReadEncodedStrip(tiff->reader, strip, target, (tmsize_t)count) >= 0;
}

bool gwi_tiff_read_tile(gwi_tiff *tiff, gwi_tiff_position position, uint8_t *target, size_t count) {
    uint32_t tile = TIFFComputeTile(tiff->reader, position.x, position.y, 0, position.sample);
    return TIFFReadEncodedTile(tiff->reader, tile, target, (tmsize_t)count) >= 0;
}

bool gwi_tiff_read_rgba(gwi_tiff *tiff, uint32_t y, uint32_t row_count, uint32_t *target) {
    TIFFRGBAImage image;
    char message[1024] = "";
    bool is_read = false;
    if (TIFFRGBAImageBegin(&image, tiff->reader, 1, message)) {
        // The rows stay as they are stored.
        image.orientation = ORIENTATION_TOPLEFT;
        image.req_orientation = ORIENTATION_TOPLEFT;
        image.row_offset = (int)y;
        is_read = TIFFRGBAImageGet(&image, target, image.width, row_count);
        TIFFRGBAImageEnd(&image);
    } else if (!tiff->message[0]) {
        snprintf(tiff->message, sizeof tiff->message, "%s", message);
    }
    return is_read;
}
