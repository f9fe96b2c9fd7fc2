// The functions of C libraries that Swift cannot call: variadic functions, functions that end in longjmp, two symbols that
// libdispatch exports without declaring them, and a GSource with a dispatch function. There is no logic here.
#pragma once

#include <curl/curl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

// curl_easy_setopt, curl_easy_getinfo, curl_multi_setopt and curl_share_setopt are variadic.
CURLcode gwi_curl_set_long(CURL *handle, CURLoption option, long value);
CURLcode gwi_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value);
CURLcode gwi_curl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode gwi_curl_set_pointer(CURL *handle, CURLoption option, void *value);
CURLcode gwi_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value);
CURLcode gwi_curl_copy_body(CURL *handle, const void *bytes);
typedef size_t (*gwi_curl_data_function)(char *bytes, size_t size, size_t count, void *context);
CURLcode gwi_curl_set_data_function(CURL *handle, CURLoption option, gwi_curl_data_function function);
CURLcode gwi_curl_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode gwi_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value);
CURLcode gwi_curl_get_string(CURL *handle, CURLINFO info, const char **value);
CURLMcode gwi_curl_multi_set_long(CURLM *handle, CURLMoption option, long value);
CURLSHcode gwi_curl_share_set_data(CURLSH *handle, curl_lock_data value);

// libdispatch's main queue, as CoreFoundation's run loop drains it. The handle is an eventfd; it is -1 when this version of
// libdispatch does not export the two functions.
int gwi_main_queue_handle(void);
void gwi_main_queue_drain(void);

// Makes a source that is dispatched at its ready time (g_source_set_ready_time). The function returns the microseconds
// until the next dispatch, or -1 to wait for the next call of g_source_set_ready_time.
typedef gint64 (*gwi_timed_function)(void *context);
GSource *gwi_timed_source_new(gwi_timed_function function, void *context, int priority, const char *name);

// Returns whether the caller runs on the main thread of the process.
gboolean gwi_is_main_thread(void);

/// A PNG file that libpng reads. The bytes have to stay where they are.
typedef struct gwi_png gwi_png;

/// Begins to read. NULL when there is no memory.
gwi_png *gwi_png_new(const uint8_t *data, size_t count, bool checks_sums);
void gwi_png_free(gwi_png *png);
/// Why a call failed.
const char *gwi_png_message(const gwi_png *png);
/// Reads up to the pixels. Three bytes a pixel then, or four with alpha, which is not multiplied in.
bool gwi_png_read_header(gwi_png *png, uint32_t *width, uint32_t *height, bool *has_alpha);
/// The colour profile, once the header was read; valid as long as `png` is.
bool gwi_png_profile(gwi_png *png, const uint8_t **profile, uint32_t *count);
/// Reads the pixels.
bool gwi_png_read_pixels(gwi_png *png, uint8_t *target, size_t stride);

/// The checksum of PNG chunks, as zlib computes it.
uint32_t gwi_crc32(const uint8_t *data, size_t count);

/// A JPEG file that is still arriving, read by libjpeg.
typedef struct gwi_jpeg gwi_jpeg;
typedef enum { GWI_JPEG_FAILED, GWI_JPEG_WAITS, GWI_JPEG_DONE } gwi_jpeg_step;

/// NULL when there is no memory.
gwi_jpeg *gwi_jpeg_new(void);
void gwi_jpeg_free(gwi_jpeg *jpeg);
/// Why a call failed; nothing else may be called then.
const char *gwi_jpeg_message(const gwi_jpeg *jpeg);
/// Takes the next bytes, of which a copy is made. False when there is no memory.
bool gwi_jpeg_append(gwi_jpeg *jpeg, const uint8_t *bytes, size_t count);
/// Reads up to the pixels.
gwi_jpeg_step gwi_jpeg_read_header(gwi_jpeg *jpeg, uint32_t *width, uint32_t *height, bool *is_rgb);
/// Decides on the size of the pixels: that of the file, or that divided by 2, 4 or 8.
void gwi_jpeg_set_up(gwi_jpeg *jpeg, unsigned divisor, uint32_t *width, uint32_t *height);
/// Decodes what has come, to three bytes a pixel. Files of one scan come row by row; those of many are only read, and
/// shown by gwi_jpeg_show_scans. DONE when all has come.
gwi_jpeg_step gwi_jpeg_decode(gwi_jpeg *jpeg, uint8_t *target, size_t stride, uint32_t *rows);
/// All of the image, from the scans that have come whole. WAITS when there is nothing new.
gwi_jpeg_step gwi_jpeg_show_scans(gwi_jpeg *jpeg, uint8_t *target, size_t stride);
/// Whether anything did not make sense so far.
bool gwi_jpeg_is_damaged(const gwi_jpeg *jpeg);
