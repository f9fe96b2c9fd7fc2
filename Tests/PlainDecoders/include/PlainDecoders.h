// The plain calls of a C program that only decodes an image with the library of its format. The benchmarks compare with them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Each function decodes to eight bits of red, green and blue (and alpha), at the size of the file or, if `width` and `height` are
// not 0, to about that size as far as the library does that by itself. The pixels are freed at once.
bool plain_jpeg(const uint8_t *data, size_t count, int width, int height);
bool plain_png(const uint8_t *data, size_t count, int width, int height);
bool plain_webp(const uint8_t *data, size_t count, int width, int height);
// AVIF and HEIC, JPEG XL, and SVG (whose bytes always have alpha). False if the library is not installed.
bool plain_heif(const uint8_t *data, size_t count, int width, int height);
bool plain_jxl(const uint8_t *data, size_t count, int width, int height);
bool plain_svg(const uint8_t *data, size_t count, int width, int height);
// Any format, with gdk_pixbuf_loader_write in pieces of that many bytes (0: all at once), scaled with
// gdk_pixbuf_scale_simple.
bool plain_pixbuf(const uint8_t *data, size_t count, int width, int height, size_t piece);
// All frames of an animation once, with GdkPixbufAnimation and WebPAnimDecoder.
bool plain_pixbuf_animation(const uint8_t *data, size_t count);
bool plain_webp_animation(const uint8_t *data, size_t count);
// An animation that plays for as long as the program runs, and one look at it: a texture when there is a new frame.
void *plain_pixbuf_player_new(const uint8_t *data, size_t count);
void plain_pixbuf_player_draw(void *player);
