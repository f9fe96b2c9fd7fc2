#include "CWebImageShims.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

// libjpeg reports an error by calling a function that must not return. That function leaves with longjmp, which must never cross a
// Swift frame, so each function here that calls libjpeg sets its own jump target.

struct gwi_jpeg {
    struct jpeg_decompress_struct reader;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];
    // The received bytes that libjpeg has not read yet; NULL when the caller keeps the whole file.
    uint8_t *bytes;
    size_t capacity;
    // The number of bytes to discard from the next ones that arrive.
    size_t skipped;
    // One line of CMYK, which is converted while it is copied to the target.
    uint8_t *line;
    gwi_jpeg_convert convert;
    const void *conversion;
    bool has_whole_file;
    // Whether libjpeg has read beyond the end of the whole file, and whether pixels needed what it found there.
    bool has_run_out;
    bool lacks_bytes;
    bool has_header;
    bool has_started;
    // After an error nothing but freeing may be called (libjpeg.txt, "Error handling").
    bool has_failed;
    int shown_scan;
};

static void fail(j_common_ptr reader) {
    gwi_jpeg *jpeg = reader->client_data;
    reader->err->format_message(reader, jpeg->message);
    jpeg->has_failed = true;
    longjmp(jpeg->failed, 1);
}

static void count_warning(j_common_ptr reader, int level) {
    gwi_jpeg *jpeg = reader->client_data;
    if (level >= 0) return;
    // Damaged data shows as a smudge, as it does in browsers.
    reader->err->num_warnings++;
    if (jpeg->has_run_out && reader->err->msg_code == JWRN_HIT_MARKER) jpeg->lacks_bytes = true;
}

// A malicious file can hold hundreds of scans over millions of pixels, each of which takes the time of a whole image. Encoders write ten.
static void check_scan_count(gwi_jpeg *jpeg) {
    double pixels = (double)jpeg->reader.image_width * jpeg->reader.image_height;
    int limit = pixels >= 1 << 25 ? 32 : pixels <= 1 << 21 ? 500 : (int)((1 << 30) / pixels);
    if (jpeg->reader.input_scan_number <= limit) return;
    snprintf(jpeg->message, sizeof jpeg->message, "there are more than %d scans", limit);
    jpeg->has_failed = true;
    longjmp(jpeg->failed, 1);
}

static void observe_progress(j_common_ptr reader) { check_scan_count(reader->client_data); }

static void ignore(j_decompress_ptr reader) { (void)reader; }

static boolean fill_buffer(j_decompress_ptr reader) {
    static const JOCTET end[] = {0xFF, JPEG_EOI};
    gwi_jpeg *jpeg = reader->client_data;
    // libjpeg returns early everywhere and is called again when more bytes are there ("suspension" in libjpeg.txt).
    if (!jpeg->has_whole_file) return FALSE;
    jpeg->has_run_out = true;
    reader->src->next_input_byte = end;
    reader->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void skip(j_decompress_ptr reader, long count) {
    gwi_jpeg *jpeg = reader->client_data;
    if (count <= 0) return;
    size_t there = reader->src->bytes_in_buffer;
    size_t now = (size_t)count < there ? (size_t)count : there;
    reader->src->next_input_byte += now;
    reader->src->bytes_in_buffer -= now;
    if (!jpeg->has_whole_file) jpeg->skipped += (size_t)count - now;
}

gwi_jpeg *gwi_jpeg_new(bool keeps_profile) {
    gwi_jpeg *jpeg = calloc(1, sizeof *jpeg);
    if (!jpeg) return NULL;
    jpeg->reader.err = jpeg_std_error(&jpeg->errors);
    jpeg->errors.error_exit = fail;
    jpeg->errors.emit_message = count_warning;
    jpeg->reader.client_data = jpeg;
    if (setjmp(jpeg->failed)) {
        gwi_jpeg_free(jpeg);
        return NULL;
    }
    jpeg_create_decompress(&jpeg->reader);
    jpeg->progress.progress_monitor = observe_progress;
    jpeg->reader.progress = &jpeg->progress;
    jpeg->source.init_source = ignore;
    jpeg->source.fill_input_buffer = fill_buffer;
    jpeg->source.skip_input_data = skip;
    jpeg->source.resync_to_restart = jpeg_resync_to_restart;
    jpeg->source.term_source = ignore;
    jpeg->reader.src = &jpeg->source;
    if (keeps_profile) jpeg_save_markers(&jpeg->reader, JPEG_APP0 + 2, 0xFFFF);
    return jpeg;
}

void gwi_jpeg_free(gwi_jpeg *jpeg) {
    if (!jpeg) return;
    jpeg_destroy_decompress(&jpeg->reader);
    free(jpeg->bytes);
    free(jpeg->line);
    free(jpeg);
}

const char *gwi_jpeg_message(const gwi_jpeg *jpeg) { return jpeg->message; }

bool gwi_jpeg_has_warned(const gwi_jpeg *jpeg) { return jpeg->errors.num_warnings > 0; }

void gwi_jpeg_set_file(gwi_jpeg *jpeg, const uint8_t *bytes, size_t count) {
    jpeg->has_whole_file = true;
    jpeg->source.next_input_byte = bytes;
    jpeg->source.bytes_in_buffer = count;
}

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

gwi_jpeg_step gwi_jpeg_read_header(gwi_jpeg *jpeg, uint32_t *width, uint32_t *height) {
    if (jpeg->has_failed || setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    if (!jpeg->has_header) {
        if (jpeg_read_header(&jpeg->reader, TRUE) == JPEG_SUSPENDED) return GWI_JPEG_WAITS;
        jpeg->has_header = true;
    }
    *width = jpeg->reader.image_width;
    *height = jpeg->reader.image_height;
    return GWI_JPEG_DONE;
}

bool gwi_jpeg_copy_profile(gwi_jpeg *jpeg, uint8_t **profile, uint32_t *count) {
    JOCTET *bytes = NULL;
    unsigned int length = 0;
    if (jpeg->has_failed || setjmp(jpeg->failed)) return false;
    if (!jpeg_read_icc_profile(&jpeg->reader, &bytes, &length)) return false;
    *profile = bytes;
    *count = length;
    return true;
}

static bool is_cmyk(const gwi_jpeg *jpeg) {
    J_COLOR_SPACE space = jpeg->reader.jpeg_color_space;
    return space == JCS_CMYK || space == JCS_YCCK;
}

bool gwi_jpeg_is_cmyk(const gwi_jpeg *jpeg) { return jpeg->has_header && is_cmyk(jpeg); }

// The decoder of arithmetic coding cannot suspend (jdarith.c, get_byte).
bool gwi_jpeg_needs_whole_file(const gwi_jpeg *jpeg) { return jpeg->has_header && jpeg->reader.arith_code; }

void gwi_jpeg_set_conversion(gwi_jpeg *jpeg, gwi_jpeg_convert convert, const void *conversion) {
    jpeg->convert = convert;
    jpeg->conversion = conversion;
}

gwi_jpeg_step gwi_jpeg_set_up(gwi_jpeg *jpeg, gwi_jpeg_setup setup, uint32_t *width, uint32_t *height) {
    if (jpeg->has_failed || setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    jpeg->reader.scale_num = 1;
    jpeg->reader.scale_denom = setup.divisor;
    jpeg->reader.out_color_space = is_cmyk(jpeg) ? JCS_CMYK : JCS_EXT_RGB;
    if (setup.is_fast) jpeg->reader.dct_method = JDCT_FASTEST;
    // A whole file needs no image after each scan, so libjpeg runs the inverse DCT once.
    jpeg->reader.buffered_image = !jpeg->has_whole_file && jpeg_has_multiple_scans(&jpeg->reader);
    jpeg_calc_output_dimensions(&jpeg->reader);
    *width = jpeg->reader.output_width;
    *height = jpeg->reader.output_height;
    if (is_cmyk(jpeg)) {
        free(jpeg->line);
        jpeg->line = malloc((size_t)jpeg->reader.output_width * 4);
        if (!jpeg->line) {
            strcpy(jpeg->message, "there is no memory");
            return GWI_JPEG_FAILED;
        }
    }
    return GWI_JPEG_DONE;
}

// Adobe's programs write CMYK inverted, and mark the file. Without a profile, this is the conversion of gdk-pixbuf and Pillow.
static void convert_line(gwi_jpeg *jpeg, uint8_t *target) {
    JDIMENSION width = jpeg->reader.output_width;
    uint8_t *source = jpeg->line;
    if (jpeg->convert) {
        uint8_t inverted = jpeg->reader.saw_Adobe_marker ? 255 : 0;
        for (size_t index = 0; index < (size_t)width * 4; index++) source[index] ^= inverted;
        jpeg->convert(jpeg->conversion, source, target, width);
        return;
    }
    uint8_t inverted = jpeg->reader.saw_Adobe_marker ? 0 : 255;
    for (JDIMENSION x = 0; x < width; x++, source += 4, target += 3) {
        unsigned black = source[3] ^ inverted;
        for (int channel = 0; channel < 3; channel++) target[channel] = (uint8_t)((source[channel] ^ inverted) * black / 255);
    }
}

// Whether the whole file ends before its pixels do, of which libjpeg makes grey ones, or coarse ones where a scan is missing.
static bool is_cut(const gwi_jpeg *jpeg) {
    const struct jpeg_decompress_struct *reader = &jpeg->reader;
    if (!jpeg->has_run_out) return false;
    // The arithmetic decoder does not tell, since bytes of 0 may be missing at the end (jdarith.c, get_byte).
    if (jpeg->lacks_bytes || reader->arith_code) return true;
    for (int index = 0; index < reader->num_components; index++) {
        if (!reader->comp_info[index].quant_table) return true;
        for (int bit = 0; reader->coef_bits && bit < DCTSIZE2; bit++) {
            if (reader->coef_bits[index][bit] != 0) return true;
        }
    }
    return false;
}

// Reads lines from where the last call ended.
static gwi_jpeg_step read_lines(gwi_jpeg *jpeg, uint8_t *target, size_t stride) {
    enum { batch = 16 };
    j_decompress_ptr reader = &jpeg->reader;
    while (reader->output_scanline < reader->output_height) {
        uint8_t *first = target + reader->output_scanline * stride;
        if (jpeg->line) {
            JSAMPROW row = jpeg->line;
            if (jpeg_read_scanlines(reader, &row, 1) == 0) return GWI_JPEG_WAITS;
            convert_line(jpeg, first);
            continue;
        }
        JSAMPROW rows[batch];
        JDIMENSION left = reader->output_height - reader->output_scanline;
        JDIMENSION count = left < batch ? left : batch;
        for (JDIMENSION row = 0; row < count; row++) rows[row] = first + row * stride;
        if (jpeg_read_scanlines(reader, rows, count) == 0) return GWI_JPEG_WAITS;
    }
    return GWI_JPEG_DONE;
}

gwi_jpeg_step gwi_jpeg_decode(gwi_jpeg *jpeg, uint8_t *target, size_t stride, uint32_t *rows) {
    if (jpeg->has_failed || setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    if (!jpeg->has_started) {
        if (!jpeg_start_decompress(&jpeg->reader)) return GWI_JPEG_WAITS;
        jpeg->has_started = true;
    }
    if (!jpeg->reader.buffered_image) {
        gwi_jpeg_step step = read_lines(jpeg, target, stride);
        *rows = jpeg->reader.output_scanline;
        // jpeg_finish_decompress would read on to the end marker and fail at damage that no pixel depends on.
        return is_cut(jpeg) ? GWI_JPEG_WAITS : step;
    }
    for (;;) {
        check_scan_count(jpeg);
        int state = jpeg_consume_input(&jpeg->reader);
        if (state == JPEG_SUSPENDED) return GWI_JPEG_WAITS;
        if (state == JPEG_REACHED_EOI) return GWI_JPEG_DONE;
    }
}

gwi_jpeg_step gwi_jpeg_show_scans(gwi_jpeg *jpeg, uint8_t *target, size_t stride) {
    if (!jpeg->has_failed && (!jpeg->has_started || !jpeg->reader.buffered_image)) return GWI_JPEG_WAITS;
    if (jpeg->has_failed || setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    int scan = jpeg->reader.input_scan_number;
    // The scan that is arriving is not complete.
    if (!jpeg_input_complete(&jpeg->reader)) scan--;
    if (scan < 1 || scan <= jpeg->shown_scan) return GWI_JPEG_WAITS;
    if (!jpeg_start_output(&jpeg->reader, scan)) return GWI_JPEG_WAITS;
    gwi_jpeg_step step = read_lines(jpeg, target, stride);
    if (step != GWI_JPEG_DONE) return GWI_JPEG_FAILED;
    if (!jpeg_finish_output(&jpeg->reader)) return GWI_JPEG_FAILED;
    jpeg->shown_scan = scan;
    return GWI_JPEG_DONE;
}

gwi_jpeg_step gwi_jpeg_start_region(gwi_jpeg *jpeg, uint32_t *x, uint32_t *width) {
    if (jpeg->has_failed || setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    if (!jpeg_start_decompress(&jpeg->reader)) return GWI_JPEG_WAITS;
    jpeg->has_started = true;
    JDIMENSION start = *x, count = *width;
    // libjpeg begins at a block and keeps the right edge.
    if (count < jpeg->reader.output_width) jpeg_crop_scanline(&jpeg->reader, &start, &count);
    *x = start;
    *width = count;
    return GWI_JPEG_DONE;
}

gwi_jpeg_step gwi_jpeg_skip_rows(gwi_jpeg *jpeg, uint32_t count) {
    if (jpeg->has_failed || setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    return jpeg_skip_scanlines(&jpeg->reader, count) == count ? GWI_JPEG_DONE : GWI_JPEG_WAITS;
}

gwi_jpeg_step gwi_jpeg_read_rows(gwi_jpeg *jpeg, uint8_t *target, size_t stride, uint32_t count) {
    if (jpeg->has_failed || setjmp(jpeg->failed)) return GWI_JPEG_FAILED;
    for (uint32_t row = 0; row < count; row++, target += stride) {
        JSAMPROW line = jpeg->line ? jpeg->line : target;
        if (jpeg_read_scanlines(&jpeg->reader, &line, 1) == 0) return GWI_JPEG_WAITS;
        if (jpeg->line) convert_line(jpeg, target);
    }
    return is_cut(jpeg) ? GWI_JPEG_WAITS : GWI_JPEG_DONE;
}

// Writing.

// Owns the written bytes, which jpeg_mem_dest does not hand out after an error.
struct writer {
    struct jpeg_compress_struct compressor;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf failed;
    char *message;
    uint8_t *bytes;
    size_t capacity;
};

static void fail_writing(j_common_ptr compressor) {
    struct writer *writer = compressor->client_data;
    compressor->err->format_message(compressor, writer->message);
    longjmp(writer->failed, 1);
}

static void ignore_message(j_common_ptr compressor, int level) {
    (void)compressor;
    (void)level;
}

static void grow(struct writer *writer, size_t capacity) {
    size_t used = writer->capacity;
    uint8_t *larger = realloc(writer->bytes, capacity);
    if (!larger) {
        strcpy(writer->message, "there is no memory");
        longjmp(writer->failed, 1);
    }
    writer->bytes = larger;
    writer->capacity = capacity;
    writer->destination.next_output_byte = larger + used;
    writer->destination.free_in_buffer = capacity - used;
}

static void begin_output(j_compress_ptr compressor) {
    grow(compressor->client_data, (size_t)compressor->image_width * compressor->image_height / 4 + 4096);
}

static boolean grow_output(j_compress_ptr compressor) {
    struct writer *writer = compressor->client_data;
    grow(writer, writer->capacity * 2);
    return TRUE;
}

static void end_output(j_compress_ptr compressor) { (void)compressor; }

static bool write_file(struct writer *writer, const uint8_t *pixels, gwi_jpeg_encoding encoding) {
    j_compress_ptr compressor = &writer->compressor;
    compressor->err = jpeg_std_error(&writer->errors);
    writer->errors.error_exit = fail_writing;
    writer->errors.emit_message = ignore_message;
    compressor->client_data = writer;
    if (setjmp(writer->failed)) {
        jpeg_destroy_compress(compressor);
        return false;
    }
    jpeg_create_compress(compressor);
    writer->destination.init_destination = begin_output;
    writer->destination.empty_output_buffer = grow_output;
    writer->destination.term_destination = end_output;
    compressor->dest = &writer->destination;
    compressor->image_width = encoding.width;
    compressor->image_height = encoding.height;
    compressor->in_color_space = JCS_EXT_RGB;
    compressor->input_components = 3;
    jpeg_set_defaults(compressor);
    jpeg_set_quality(compressor, encoding.quality, TRUE);
    // The fast DCT loses accuracy that shows only at the highest qualities (libjpeg.txt, dct_method).
    compressor->dct_method = encoding.quality >= 96 ? JDCT_ISLOW : JDCT_FASTEST;
    if (encoding.has_full_chroma) {
        compressor->comp_info[0].h_samp_factor = 1;
        compressor->comp_info[0].v_samp_factor = 1;
    }
    jpeg_start_compress(compressor, TRUE);
    size_t stride = (size_t)encoding.width * 3;
    while (compressor->next_scanline < compressor->image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + compressor->next_scanline * stride);
        jpeg_write_scanlines(compressor, &row, 1);
    }
    jpeg_finish_compress(compressor);
    jpeg_destroy_compress(compressor);
    return true;
}

bool gwi_jpeg_encode(const uint8_t *pixels, gwi_jpeg_encoding encoding, gwi_jpeg_file *file) {
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        strcpy(file->message, "there is no memory");
        return false;
    }
    writer->message = file->message;
    bool is_written = write_file(writer, pixels, encoding);
    if (is_written) {
        file->bytes = writer->bytes;
        file->count = writer->capacity - writer->destination.free_in_buffer;
    } else {
        free(writer->bytes);
    }
    free(writer);
    return is_written;
}
