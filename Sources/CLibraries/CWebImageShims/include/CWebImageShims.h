// The functions of C libraries that Swift cannot call: variadic functions, functions that end in longjmp, two symbols that
// libdispatch exports without declaring them, a GSource with a dispatch function, and the start of a process. Each does one call or
// one loop around it.
#pragma once

#include <curl/curl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Initializes libcurl so that no exit handler of OpenSSL disturbs network threads.
void gwi_curl_initialize(void);
// Names the calling thread; pthread_setname_np(3) is not in the Glibc module.
void gwi_thread_set_name(const char *name);
// curl_easy_setopt, curl_easy_getinfo, curl_multi_setopt and curl_share_setopt are variadic.
CURLcode gwi_curl_set_long(CURL *handle, CURLoption option, long value);
CURLcode gwi_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value);
CURLcode gwi_curl_set_string(CURL *handle, CURLoption option, const char *value);
CURLcode gwi_curl_set_pointer(CURL *handle, CURLoption option, void *value);
CURLcode gwi_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value);
CURLcode gwi_curl_copy_body(CURL *handle, const void *bytes);
typedef size_t (*gwi_curl_data_function)(char *bytes, size_t size, size_t count, void *context);
CURLcode gwi_curl_set_data_function(CURL *handle, CURLoption option, gwi_curl_data_function function);
void gwi_curl_end_before_request(CURL *handle);
CURLcode gwi_curl_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode gwi_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value);

// The milliseconds since the socket of a running transfer received bytes, or acknowledged ones where these count; -1 when
// they are not known. Where they are, the socket is stored as well.
long gwi_curl_get_socket_silence(CURLM *multi, CURL *handle, bool counts_acknowledgements, int *socket);
CURLcode gwi_curl_get_string(CURL *handle, CURLINFO info, const char **value);
CURLMcode gwi_curl_multi_set_long(CURLM *handle, CURLMoption option, long value);
CURLSHcode gwi_curl_share_set_data(CURLSH *handle, curl_lock_data value);
// Whether libcurl has HTTP/3, with QUIC from ngtcp2. CURLVERSION_NOW is a macro that Swift does not import.
bool gwi_curl_has_http3(void);

// Whether this version of libdispatch exports the functions with which CoreFoundation's run loop drains the main queue. A source of
// the default main context, attached when the program is loaded, does the same.
bool gwi_can_drain_main_queue(void);
// Sets the function to call, on any thread, the first time that another thread than the main one runs the default main context while
// the queue has work, which waits then until the main thread runs it. It is called at once when that was seen before.
typedef void (*gwi_misplaced_handler)(void);
void gwi_main_queue_on_misplaced(gwi_misplaced_handler handler);

// Makes a source that is dispatched at its ready time (g_source_set_ready_time). The function returns the microseconds
// until the next dispatch, or -1 to wait for the next call of g_source_set_ready_time.
typedef gint64 (*gwi_timed_function)(void *context);
typedef gboolean (*gwi_ready_function)(void *context);
GSource *gwi_timed_source_new(gwi_timed_function function, gwi_ready_function is_ready, void *context, int priority,
                              const char *name);

// Returns whether the caller runs on the main thread of the process.
gboolean gwi_is_main_thread(void);

/// Whether gdk-pixbuf decodes a format in another process, through glycin. A loader that is installed beside it decodes in this one.
bool gwi_pixbuf_decodes_elsewhere(const char *media_type);
/// How well the beginning of a file matches the signatures of a GdkPixbufFormat: from 1 to 100, or 0 when it does not.
int gwi_pixbuf_relevance(const void *format, const uint8_t *bytes, size_t count);

/// A PNG file, whole or still arriving, that libpng reads.
typedef struct gwi_png gwi_png;

/// Begins to read a file. NULL when there is no memory.
gwi_png *gwi_png_new(void);
void gwi_png_free(gwi_png *png);
/// Why a call failed.
const char *gwi_png_message(const gwi_png *png);
/// Keeps channels of 16 bits, in the byte order of the machine, where the file has them. Called before the header is read.
void gwi_png_keep_depth(gwi_png *png);
/// Whether the channels of the file have 16 bits, once the header is read.
bool gwi_png_is_deep(const gwi_png *png);
/// Takes the next bytes. It stops before the pixels, keeps what it has not read, and goes on with the next call once there is a
/// target. After false, only gwi_png_get_progress,
/// gwi_png_message and gwi_png_free may be called.
bool gwi_png_append(gwi_png *png, const uint8_t *bytes, size_t count);
/// The header. False until it is there. Three channels a pixel then, or four with alpha, which is not multiplied in.
bool gwi_png_header(gwi_png *png, uint32_t *width, uint32_t *height, bool *has_alpha);
/// The colour profile, once the header was read; valid as long as `png` is.
bool gwi_png_profile(gwi_png *png, const uint8_t **profile, uint32_t *count);
/// Decodes the pixels of a whole file in one go, which takes half of the time of gwi_png_append. To be called once the header is
/// read, with the offset of the first chunk of pixels, and freed.
/// NULL when the file is damaged or of a kind for which only gwi_png_append does.
uint8_t *gwi_png_decode(gwi_png *png, const uint8_t *data, size_t count, size_t offset);
/// Sets where the pixels are written.
void gwi_png_set_target(gwi_png *png, uint8_t *target, size_t stride);

/// Writes a whole file of three bytes a pixel, or four with alpha that is not multiplied in. Free `data` afterwards.
bool gwi_png_write(const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha, uint8_t **data, size_t *count);

typedef struct {
    /// The number of rows that were received, those of all passes.
    uint64_t count;
    /// The number of rows from the top that have pixels, perhaps coarse ones.
    uint32_t rows;
    bool is_done;
} gwi_png_progress;

/// What has been written.
void gwi_png_get_progress(const gwi_png *png, gwi_png_progress *progress);

/// A JPEG file, whole or still arriving, that libjpeg reads.
typedef struct gwi_jpeg gwi_jpeg;
/// The state after a call: it failed, waits for further bytes, or is done.
typedef enum { GWI_JPEG_FAILED, GWI_JPEG_WAITS, GWI_JPEG_DONE } gwi_jpeg_step;

/// Makes a reader. NULL when there is no memory.
/// - keeps_profile: whether gwi_jpeg_copy_profile will be called.
gwi_jpeg *gwi_jpeg_new(bool keeps_profile);
void gwi_jpeg_free(gwi_jpeg *jpeg);
/// The cause of the last failure, after which only gwi_jpeg_free may be called.
const char *gwi_jpeg_message(const gwi_jpeg *jpeg);
/// Whether libjpeg has met damage that it decodes as a smudge.
bool gwi_jpeg_has_warned(const gwi_jpeg *jpeg);
/// Reads a whole file, whose bytes must stay in place as long as the reader.
void gwi_jpeg_set_file(gwi_jpeg *jpeg, const uint8_t *bytes, size_t count);
/// Copies the next bytes of a file that is arriving. False when there is no memory.
bool gwi_jpeg_append(gwi_jpeg *jpeg, const uint8_t *bytes, size_t count);
/// Reads everything before the pixels.
gwi_jpeg_step gwi_jpeg_read_header(gwi_jpeg *jpeg, uint32_t *width, uint32_t *height);
/// Whether the colours are inks: cyan, magenta, yellow and black. Known once the header is read.
bool gwi_jpeg_is_cmyk(const gwi_jpeg *jpeg);
/// Whether libjpeg reads the pixels of the whole file only, as those of arithmetic coding. Known once the header is read.
bool gwi_jpeg_needs_whole_file(const gwi_jpeg *jpeg);

/// Converts a line of inks, four bytes a pixel, to red, green and blue. 255 is all of an ink.
typedef void (*gwi_jpeg_convert)(const void *conversion, const uint8_t *inks, uint8_t *colors, uint32_t count);

/// Sets the conversion of inks, which must stay as long as `jpeg`. Default: the inks are multiplied.
void gwi_jpeg_set_conversion(gwi_jpeg *jpeg, gwi_jpeg_convert convert, const void *conversion);

/// The ICC profile, once the header is read. The caller frees it.
bool gwi_jpeg_copy_profile(gwi_jpeg *jpeg, uint8_t **profile, uint32_t *count);

typedef struct {
    /// The size of the file is divided by 1, 2, 4 or 8.
    unsigned divisor;
    /// Whether the inverse DCT is faster and less accurate.
    bool is_fast;
} gwi_jpeg_setup;

/// Sets the size of the decoded image, once the header is read. Never WAITS.
gwi_jpeg_step gwi_jpeg_set_up(gwi_jpeg *jpeg, gwi_jpeg_setup setup, uint32_t *width, uint32_t *height);
/// Decodes the available bytes to three bytes a pixel. A whole file and a file of one scan are written row by row; the scans of an
/// arriving progressive file are only read, and gwi_jpeg_show_scans writes them. DONE at the end of the image.
gwi_jpeg_step gwi_jpeg_decode(gwi_jpeg *jpeg, uint8_t *target, size_t stride, uint32_t *rows);
/// Writes the image of all complete scans. WAITS when there is no new scan.
gwi_jpeg_step gwi_jpeg_show_scans(gwi_jpeg *jpeg, uint8_t *target, size_t stride);

/// Begins to decode columns of a whole file that is set up. They are widened to the left as far as libjpeg needs, which sets both
/// numbers. The first column and the last ones next to others may differ from those of the whole image.
gwi_jpeg_step gwi_jpeg_start_region(gwi_jpeg *jpeg, uint32_t *x, uint32_t *width);
/// Skips rows of a region, whose pixels are not computed.
gwi_jpeg_step gwi_jpeg_skip_rows(gwi_jpeg *jpeg, uint32_t count);
/// Decodes the next rows of a region to three bytes a pixel.
gwi_jpeg_step gwi_jpeg_read_rows(gwi_jpeg *jpeg, uint8_t *target, size_t stride, uint32_t count);

typedef struct {
    uint32_t width;
    uint32_t height;
    /// 1 to 100.
    int quality;
    /// Whether colours keep the resolution of brightness; else they have half of it in both directions.
    bool has_full_chroma;
} gwi_jpeg_encoding;

typedef struct {
    /// The caller frees them.
    uint8_t *bytes;
    size_t count;
    /// The cause of a failure.
    char message[200];
} gwi_jpeg_file;

/// Writes pixels of three bytes as a JPEG file.
bool gwi_jpeg_encode(const uint8_t *pixels, gwi_jpeg_encoding encoding, gwi_jpeg_file *file);

/// A TIFF file that libtiff reads. The bytes have to stay where they are. Only its first image is read.
typedef struct gwi_tiff gwi_tiff;

typedef struct {
    uint32_t width;
    uint32_t height;
    uint16_t bit_count;
    uint16_t sample_count;
    /// Whether the first image is the preview of a raw photograph (DNG, NEF, ARW, CR2).
    bool is_raw_photo;
    /// SAMPLEFORMAT_ of tiff.h.
    uint16_t sample_format;
    /// PHOTOMETRIC_ of tiff.h.
    uint16_t photometric;
    uint16_t ink_set;
    /// Whether the white of L*a*b* is that of paper (D50), which it is unless the file says otherwise.
    bool has_paper_white;
    uint16_t orientation;
    /// The sample that holds alpha, when there is one.
    uint16_t alpha_index;
    bool has_alpha;
    bool is_premultiplied;
    /// Whether each sample has strips or tiles of its own.
    bool is_planar;
    bool is_tiled;
    /// The size of a tile, or of a strip, in pixels.
    uint32_t segment_width;
    uint32_t segment_height;
    /// The bytes of a decoded tile or strip.
    uint64_t segment_size;
    /// The colours of a palette: 2 to the power of bit_count each, valid as long as the file. NULL when there are none.
    const uint16_t *red;
    const uint16_t *green;
    const uint16_t *blue;
} gwi_tiff_header;

/// Begins to read. NULL when there is no memory.
/// - memory_limit: the largest single piece of memory that libtiff takes, in bytes.
gwi_tiff *gwi_tiff_new(const uint8_t *data, size_t count, size_t memory_limit);
void gwi_tiff_free(gwi_tiff *tiff);
/// Why a call failed.
const char *gwi_tiff_message(const gwi_tiff *tiff);
/// Reads the header of the first image.
bool gwi_tiff_read_header(gwi_tiff *tiff, gwi_tiff_header *header);
/// The colour profile, valid as long as the file.
bool gwi_tiff_profile(gwi_tiff *tiff, const uint8_t **profile, uint32_t *count);

typedef struct {
    uint32_t x;
    uint32_t y;
    /// The number of the sample in a planar file.
    uint16_t sample;
} gwi_tiff_position;

/// Decodes the strip or the tile with a pixel, without converting its samples.
bool gwi_tiff_read_strip(gwi_tiff *tiff, gwi_tiff_position position, uint8_t *target, size_t count);
bool gwi_tiff_read_tile(gwi_tiff *tiff, gwi_tiff_position position, uint8_t *target, size_t count);
/// Decodes whole rows, from the first one of a strip or tile on, to red, green, blue and alpha, red in the lowest byte.
bool gwi_tiff_read_rgba(gwi_tiff *tiff, uint32_t y, uint32_t row_count, uint32_t *target);

/// Starts a program, found by its name, without the other descriptors of this process.
/// - arguments, environment: The words of its command line and its variables, each with a NULL at the end. NULL for those of this process.
/// - has_group: Whether it gets a process group of its own.
/// - input, output: The descriptors of its standard input, and of its standard output and error; -1 for /dev/null.
/// Its process, to be waited for; the negative error number when it cannot be started.
pid_t gwi_spawn(char *const *arguments, char *const *environment, bool has_group, int input, int output);
/// Makes a pipe whose ends programs that are started do not get; pipe2(2) is not in the Glibc module.
bool gwi_pipe(int *ends);
