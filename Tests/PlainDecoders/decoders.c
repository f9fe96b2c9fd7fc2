#include "PlainDecoders.h"

#include <gtk/gtk.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <webp/decode.h>
#include <webp/demux.h>

bool plain_jpeg(const uint8_t *data, size_t count, int width, int height) {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    reader.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, data, count);
    jpeg_read_header(&reader, TRUE);
    int w = reader.image_width, h = reader.image_height;
    // The smallest size that is not smaller than what is asked for.
    for (int d = 8; d > 1 && width; d /= 2) {
        if ((w + d - 1) / d >= width && (h + d - 1) / d >= height) {
            reader.scale_denom = d;
            break;
        }
    }
    reader.out_color_space = JCS_EXT_RGB;
    jpeg_start_decompress(&reader);
    size_t stride = (size_t)reader.output_width * 3;
    uint8_t *pixels = malloc(stride * reader.output_height);
    while (reader.output_scanline < reader.output_height) {
        JSAMPROW row = pixels + reader.output_scanline * stride;
        jpeg_read_scanlines(&reader, &row, 1);
    }
    jpeg_finish_decompress(&reader);
    jpeg_destroy_decompress(&reader);
    free(pixels);
    return errors.num_warnings == 0;
}

bool plain_png(const uint8_t *data, size_t count, int width, int height) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&image, data, count)) return false;
    image.format = image.format & PNG_FORMAT_FLAG_ALPHA ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(image));
    bool is_read = png_image_finish_read(&image, NULL, pixels, 0, NULL);
    free(pixels);
    return is_read;
}

bool plain_webp(const uint8_t *data, size_t count, int width, int height) {
    WebPDecoderConfig config;
    WebPInitDecoderConfig(&config);
    if (width) {
        config.options.use_scaling = 1;
        config.options.scaled_width = width;
        config.options.scaled_height = height;
    }
    config.output.colorspace = MODE_RGB;
    VP8StatusCode status = WebPDecode(data, count, &config);
    WebPFreeDecBuffer(&config.output);
    return status == VP8_STATUS_OK;
}

bool plain_pixbuf(const uint8_t *data, size_t count, int width, int height, size_t piece) {
    GdkPixbufLoader *loader = gdk_pixbuf_loader_new();
    if (!piece) piece = count;
    for (size_t offset = 0; offset < count; offset += piece) {
        size_t length = count - offset < piece ? count - offset : piece;
        if (!gdk_pixbuf_loader_write(loader, data + offset, length, NULL)) break;
    }
    bool is_read = gdk_pixbuf_loader_close(loader, NULL);
    GdkPixbuf *pixbuf = gdk_pixbuf_loader_get_pixbuf(loader);
    if (is_read && width) {
        GdkPixbuf *small = gdk_pixbuf_scale_simple(pixbuf, width, height, GDK_INTERP_BILINEAR);
        g_object_unref(small);
    }
    g_object_unref(loader);
    return is_read;
}

// GdkPixbufAnimation is deprecated since gdk-pixbuf 2.44.
G_GNUC_BEGIN_IGNORE_DEPRECATIONS

static GdkPixbufLoader *load_pixbuf_animation(const uint8_t *data, size_t count) {
    GdkPixbufLoader *loader = gdk_pixbuf_loader_new();
    // A whole file at once takes minutes, since the loader moves the rest after each block of 255 bytes.
    for (size_t offset = 0; offset < count; offset += 65536) {
        size_t length = count - offset < 65536 ? count - offset : 65536;
        if (!gdk_pixbuf_loader_write(loader, data + offset, length, NULL)) return NULL;
    }
    return gdk_pixbuf_loader_close(loader, NULL) ? loader : NULL;
}

bool plain_pixbuf_animation(const uint8_t *data, size_t count) {
    GdkPixbufLoader *loader = load_pixbuf_animation(data, count);
    if (!loader) return false;
    GdkPixbufAnimation *animation = gdk_pixbuf_loader_get_animation(loader);
    GTimeVal time = {1000, 0};
    GdkPixbufAnimationIter *frames = gdk_pixbuf_animation_get_iter(animation, &time);
    for (;;) {
        gdk_pixbuf_animation_iter_get_pixbuf(frames);
        int delay = gdk_pixbuf_animation_iter_get_delay_time(frames);
        if (delay < 0 || gdk_pixbuf_animation_iter_on_currently_loading_frame(frames)) break;
        g_time_val_add(&time, (glong)delay * 1000);
        if (!gdk_pixbuf_animation_iter_advance(frames, &time)) break;
        if (time.tv_sec >= 1010) break;
    }
    g_object_unref(frames);
    g_object_unref(loader);
    return true;
}

void *plain_pixbuf_player_new(const uint8_t *data, size_t count) {
    GdkPixbufLoader *loader = load_pixbuf_animation(data, count);
    return loader ? gdk_pixbuf_animation_get_iter(gdk_pixbuf_loader_get_animation(loader), NULL) : NULL;
}

void plain_pixbuf_player_draw(void *player) {
    if (!gdk_pixbuf_animation_iter_advance(player, NULL)) return;
    g_object_unref(gdk_texture_new_for_pixbuf(gdk_pixbuf_animation_iter_get_pixbuf(player)));
}

G_GNUC_END_IGNORE_DEPRECATIONS

bool plain_webp_animation(const uint8_t *data, size_t count) {
    WebPData input = {data, count};
    WebPAnimDecoder *decoder = WebPAnimDecoderNew(&input, NULL);
    if (!decoder) return false;
    uint8_t *frame;
    int time;
    while (WebPAnimDecoderHasMoreFrames(decoder) && WebPAnimDecoderGetNext(decoder, &frame, &time)) {}
    WebPAnimDecoderDelete(decoder);
    return true;
}
