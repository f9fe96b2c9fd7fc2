#include "CWebImageShims.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

// libjpeg reports errors by calling a function that must not return, so it is left by longjmp, which Swift must not be
// jumped over. It waits for bytes by returning early everywhere ("suspension" in libjpeg.txt).
struct gwi_jpeg {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];
    // What has come and was not read yet is at the end.
    uint8_t *bytes;
    size_t count;
    size_t capacity;
    // To be left out of what comes.
    size_t skipped;
    bool has_header;
    bool has_started;
    bool is_output;
    int shown_scan;
};

static void fail(j_common_ptr reader) {
    gwi_jpeg *jpeg = reader->client_data;
    reader->err->format_message(reader, jpeg->message);
    longjmp(jpeg->failed, 1);
}

static void ignore_message(j_common_ptr reader, int level) {
    // What is damaged shows as a smudge.
    if (level < 0) reader->err->num_warnings++;
}

static void ignore(j_decompress_ptr reader) { (void)reader; }

static boolean wait_for_more(j_decompress_ptr reader) {
    (void)reader;
    return FALSE;
}

static void skip(j_decompress_ptr reader, long count) {
    gwi_jpeg *jpeg = reader->client_data;
    if (count <= 0) return;
    size_t there = reader->src->bytes_in_buffer;
    size_t now = (size_t)count < there ? (size_t)count : there;
    reader->src->next_input_byte += now;
    reader->src->bytes_in_buffer -= now;
    jpeg->skipped += (size_t)count - now;
}

gwi_jpeg *gwi_jpeg_new(void) {
    gwi_jpeg *jpeg = calloc(1, sizeof *jpeg);
    if (!jpeg) return NULL;
    jpeg->reader.err = jpeg_std_error(&jpeg->errors);
    jpeg->errors.error_exit = fail;
    jpeg->errors.emit_message = ignore_message;
    jpeg->reader.client_data = jpeg;
    if (setjmp(jpeg->failed)) {
        free(jpeg);
        return NULL;
    }
    jpeg_create_decompress(&jpeg->reader);
    jpeg->source.init_source = ignore;
    jpeg->source.fill_input_buffer = wait_for_more;
    jpeg->source.skip_input_data = skip;
    jpeg->source.resync_to_restart = jpeg_resync_to_restart;
    jpeg->source.term_source = ignore;
    jpeg->reader.src = &jpeg->source;
    return jpeg;
}

void gwi_jpeg_free(gwi_jpeg *jpeg) {
    if (!jpeg) return;
    jpeg_destroy_decompress(&jpeg->reader);
    free(jpeg->bytes);
    free(jpeg);
}

const char *gwi_jpeg_message(const gwi_jpeg *jpeg) { return jpeg->message; }

bool gwi_jpeg_append(gwi_jpeg *jpeg, const uint8_t *bytes, size_t count) {
    if (jpeg->skipped) {
        size_t left_out = jpeg->skipped < count ? jpeg->skipped : count;
        jpeg->skipped -= left_out;
        bytes += left_out;
        count -= left_out;
    }
    size_t rest = jpeg->source.bytes_in_buffer;
    if (rest) memmove(jpeg->bytes, jpeg->source.next_input_byte, rest);
    if (rest + count > jpeg->capacity) {
        size_t capacity = (rest + count) * 2;
        uint8_t *larger = realloc(jpeg->bytes, capacity);
        if (!larger) return false;
        jpeg->bytes = larger;
        jpeg->capacity = capacity;
    }
    if (count) memcpy(jpeg->bytes + rest, bytes, count);
    jpeg->source.next_input_byte = jpeg->bytes;
    jpeg->source.bytes_in_buffer = rest + count;
    return true;
}

gwi_jpeg_step gwi_jpeg_read_header(gwi_jpeg *jpeg, uint32_t *width, uint32_t *height, bool *is_rgb) {
    if (setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    if (!jpeg->has_header) {
        if (jpeg_read_header(&jpeg->reader, TRUE) == JPEG_SUSPENDED) return GWI_JPEG_WAITS;
        jpeg->has_header = true;
    }
    *width = jpeg->reader.image_width;
    *height = jpeg->reader.image_height;
    *is_rgb = jpeg->reader.jpeg_color_space != JCS_CMYK && jpeg->reader.jpeg_color_space != JCS_YCCK;
    return GWI_JPEG_DONE;
}

void gwi_jpeg_set_up(gwi_jpeg *jpeg, unsigned divisor, uint32_t *width, uint32_t *height) {
    jpeg->reader.scale_num = 1;
    jpeg->reader.scale_denom = divisor;
    jpeg->reader.out_color_space = JCS_RGB;
    jpeg->reader.buffered_image = jpeg_has_multiple_scans(&jpeg->reader);
    if (!setjmp(jpeg->failed)) jpeg_calc_output_dimensions(&jpeg->reader);
    *width = jpeg->reader.output_width;
    *height = jpeg->reader.output_height;
}

// Lines from where the last call ended.
static gwi_jpeg_step read_lines(gwi_jpeg *jpeg, uint8_t *target, size_t stride) {
    while (jpeg->reader.output_scanline < jpeg->reader.output_height) {
        JSAMPROW row = target + jpeg->reader.output_scanline * stride;
        if (jpeg_read_scanlines(&jpeg->reader, &row, 1) == 0) return GWI_JPEG_WAITS;
    }
    return GWI_JPEG_DONE;
}

gwi_jpeg_step gwi_jpeg_decode(gwi_jpeg *jpeg, uint8_t *target, size_t stride, uint32_t *rows) {
    if (setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    if (!jpeg->has_started) {
        if (!jpeg_start_decompress(&jpeg->reader)) return GWI_JPEG_WAITS;
        jpeg->has_started = true;
    }
    if (!jpeg->reader.buffered_image) {
        gwi_jpeg_step step = read_lines(jpeg, target, stride);
        *rows = jpeg->reader.output_scanline;
        return step;
    }
    for (;;) {
        // Somebody may have made this file to take for ever: hundreds of scans of millions of pixels.
        if (jpeg->reader.input_scan_number > 500) {
            strcpy(jpeg->message, "there are more than 500 scans");
            return GWI_JPEG_FAILED;
        }
        int state = jpeg_consume_input(&jpeg->reader);
        if (state == JPEG_SUSPENDED) return GWI_JPEG_WAITS;
        if (state == JPEG_REACHED_EOI) break;
    }
    return GWI_JPEG_DONE;
}

gwi_jpeg_step gwi_jpeg_show_scans(gwi_jpeg *jpeg, uint8_t *target, size_t stride) {
    if (!jpeg->has_started || !jpeg->reader.buffered_image) return GWI_JPEG_WAITS;
    if (setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    int scan = jpeg->reader.input_scan_number;
    // The one that is arriving is not whole.
    if (!jpeg_input_complete(&jpeg->reader)) scan--;
    if (scan < 1 || scan <= jpeg->shown_scan) return GWI_JPEG_WAITS;
    if (!jpeg_start_output(&jpeg->reader, scan)) return GWI_JPEG_WAITS;
    gwi_jpeg_step step = read_lines(jpeg, target, stride);
    if (step != GWI_JPEG_DONE) return GWI_JPEG_FAILED;
    if (!jpeg_finish_output(&jpeg->reader)) return GWI_JPEG_FAILED;
    jpeg->shown_scan = scan;
    return GWI_JPEG_DONE;
}

bool gwi_jpeg_is_damaged(const gwi_jpeg *jpeg) { return jpeg->errors.num_warnings > 0; }
