// The plain calls of libjpeg, libwebp and libpng, straight to premultiplied BGRA at the size of the box. What the library of a
// format does not scale itself is averaged.
#pragma once

#include "shrinking.h"

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>

typedef struct {
    uint8_t *bytes;
    int width, height;
} pixels;

// The size within the box, never enlarged.
static pixels pixels_within(int width, int height) {
    double scale = 1;
    if (box_width && (double)box_width / width < scale) scale = (double)box_width / width;
    if (box_height && (double)box_height / height < scale) scale = (double)box_height / height;
    pixels new = {NULL, width * scale + 0.5, height * scale + 0.5};
    if (new.width < 1) new.width = 1;
    if (new.height < 1) new.height = 1;
    new.bytes = malloc((size_t)new.width * new.height * 4);
    return new;
}

static pixels decode_jpeg(const uint8_t *bytes, size_t count) {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    reader.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, bytes, count);
    jpeg_read_header(&reader, TRUE);
    pixels image = pixels_within(reader.image_width, reader.image_height);
    // The next larger eighth.
    reader.scale_denom = 8;
    for (reader.scale_num = 1; reader.scale_num < 8; reader.scale_num++) {
        jpeg_calc_output_dimensions(&reader);
        if ((int)reader.output_width >= image.width && (int)reader.output_height >= image.height) break;
    }
    reader.out_color_space = JCS_EXT_BGRA;
    jpeg_start_decompress(&reader);
    size_t stride = (size_t)reader.output_width * 4;
    int is_scaled = (int)reader.output_width != image.width || (int)reader.output_height != image.height;
    uint8_t *block = is_scaled ? malloc(stride * 8) : NULL;
    shrinking target = {0};
    if (is_scaled) {
        target = shrinking_new(reader.output_width, reader.output_height, image.width, image.height, image.bytes);
    }
    while (reader.output_scanline < reader.output_height) {
        JSAMPROW rows[8];
        uint8_t *start = is_scaled ? block : image.bytes + reader.output_scanline * stride;
        int count = reader.output_height - reader.output_scanline < 8 ? reader.output_height - reader.output_scanline : 8;
        for (int row = 0; row < count; row++) rows[row] = start + row * stride;
        count = jpeg_read_scanlines(&reader, rows, count);
        for (int row = 0; is_scaled && row < count; row++) shrinking_add(&target, rows[row]);
    }
    jpeg_finish_decompress(&reader);
    jpeg_destroy_decompress(&reader);
    if (is_scaled) shrinking_end(&target);
    free(block);
    return image;
}

static pixels decode_webp(const uint8_t *bytes, size_t count) {
    WebPDecoderConfig config;
    WebPInitDecoderConfig(&config);
    if (WebPGetFeatures(bytes, count, &config.input) != VP8_STATUS_OK) return (pixels){0};
    pixels image = pixels_within(config.input.width, config.input.height);
    config.options.use_scaling = image.width != config.input.width || image.height != config.input.height;
    config.options.scaled_width = image.width;
    config.options.scaled_height = image.height;
    config.output.colorspace = MODE_bgrA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image.bytes;
    config.output.u.RGBA.stride = image.width * 4;
    config.output.u.RGBA.size = (size_t)image.width * image.height * 4;
    if (WebPDecode(bytes, count, &config) != VP8_STATUS_OK) image.bytes = NULL;
    return image;
}

typedef struct {
    const uint8_t *bytes;
    size_t count;
} png_source;

static void read_png(png_structp reader, png_bytep target, size_t count) {
    png_source *source = png_get_io_ptr(reader);
    if (count > source->count) png_error(reader, "the file is truncated");
    memcpy(target, source->bytes, count);
    source->bytes += count;
    source->count -= count;
}

static void premultiply(uint8_t *row, int width) {
    for (int x = 0; x < width; x++, row += 4) {
        for (int channel = 0; channel < 3; channel++) {
            int product = row[channel] * row[3] + 128;
            row[channel] = (product + (product >> 8)) >> 8;
        }
    }
}

static pixels decode_png(const uint8_t *bytes, size_t count) {
    png_source source = {bytes, count};
    png_structp reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(reader);
    if (setjmp(png_jmpbuf(reader))) return (pixels){0};
    png_set_read_fn(reader, &source, read_png);
    png_read_info(reader, info);
    int width = png_get_image_width(reader, info), height = png_get_image_height(reader, info);
    int has_alpha = png_get_color_type(reader, info) & PNG_COLOR_MASK_ALPHA || png_get_valid(reader, info, PNG_INFO_tRNS);
    png_set_expand(reader);
    png_set_scale_16(reader);
    png_set_gray_to_rgb(reader);
    png_set_bgr(reader);
    if (!has_alpha) png_set_add_alpha(reader, 255, PNG_FILLER_AFTER);
    if (png_set_interlace_handling(reader) > 1) png_error(reader, "the file is interlaced");
    png_read_update_info(reader, info);
    pixels image = pixels_within(width, height);
    int is_scaled = image.width != width || image.height != height;
    uint8_t *row = is_scaled ? malloc((size_t)width * 4) : image.bytes;
    shrinking target = {0};
    if (is_scaled) target = shrinking_new(width, height, image.width, image.height, image.bytes);
    for (int y = 0; y < height; y++) {
        png_read_row(reader, row, NULL);
        if (has_alpha) premultiply(row, width);
        if (is_scaled) shrinking_add(&target, row);
        else row += (size_t)width * 4;
    }
    if (is_scaled) {
        shrinking_end(&target);
        free(row);
    }
    png_destroy_read_struct(&reader, &info, NULL);
    return image;
}

// - Returns: Premultiplied BGRA; no bytes for what is no image.
static pixels decode(const uint8_t *bytes, size_t count) {
    if (count > 3 && bytes[0] == 0xFF && bytes[1] == 0xD8) return decode_jpeg(bytes, count);
    if (count > 12 && !memcmp(bytes, "RIFF", 4)) return decode_webp(bytes, count);
    if (count > 8 && !memcmp(bytes, "\x89PNG", 4)) return decode_png(bytes, count);
    return (pixels){0};
}
