#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "CWebImageCodecShims.h"

// What jxl/decode.h and jxl/codestream_header.h declare.
typedef struct { uint32_t channels; int type, endianness; size_t align; } JxlPixelFormat;
typedef struct {
    int have_container;
    uint32_t xsize, ysize, bits_per_sample, exponent_bits_per_sample;
    float intensity_target, min_nits;
    int relative_to_max_display;
    float linear_below;
    int uses_original_profile, have_preview, have_animation, orientation;
    uint32_t num_color_channels, num_extra_channels, alpha_bits, alpha_exponent_bits;
    int alpha_premultiplied;
    uint32_t preview[2];
    uint32_t tps_numerator, tps_denominator, num_loops;
    int have_timecodes;
    uint32_t intrinsic[2];
    uint8_t padding[100];
} JxlBasicInfo;
typedef struct { uint32_t duration, timecode, name_length; int is_last; uint32_t layer[10]; } JxlFrameHeader;
enum { SUCCESS = 0, NEED_MORE_INPUT = 2, NEED_IMAGE_OUT_BUFFER = 5, BASIC_INFO = 0x40, COLOR_ENCODING = 0x100 };
enum { FRAME = 0x400, FULL_IMAGE = 0x1000, TYPE_UINT8 = 2, TYPE_UINT16 = 3, NATIVE_ENDIAN = 0, TARGET_DATA = 1 };

#define FUNCTIONS(F) \
    F(uint32_t, Version, (void)) F(void *, Create, (const void *)) F(void, Destroy, (void *)) \
    F(int, SubscribeEvents, (void *, int)) F(int, SetKeepOrientation, (void *, int)) \
    F(int, SetInput, (void *, const uint8_t *, size_t)) F(size_t, ReleaseInput, (void *)) F(void, CloseInput, (void *)) \
    F(int, ProcessInput, (void *)) F(int, GetBasicInfo, (const void *, JxlBasicInfo *)) \
    F(int, GetFrameHeader, (const void *, JxlFrameHeader *)) F(int, FlushImage, (void *)) \
    F(int, ImageOutBufferSize, (const void *, const JxlPixelFormat *, size_t *)) \
    F(int, SetImageOutBuffer, (void *, const JxlPixelFormat *, void *, size_t))

#define DECLARE(result, name, arguments) result (*name) arguments;
static struct {
    bool is_loaded;
    FUNCTIONS(DECLARE)
    void *GetICCProfileSize, *GetColorAsICCProfile;
} jxl_;
#define FIND(result, name, arguments) jxl_.name = (result (*) arguments)dlsym(library, "JxlDecoder" #name);
#define IS_FOUND(result, name, arguments) && jxl_.name

static void load(void) {
    // Until 1.0, each version has a separate name.
    for (int minor = 20; minor >= 7 && !jxl_.is_loaded; minor--) {
        char name[32];
        snprintf(name, sizeof name, "libjxl.so.0.%d", minor);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        FUNCTIONS(FIND)
        jxl_.GetICCProfileSize = dlsym(library, "JxlDecoderGetICCProfileSize");
        jxl_.GetColorAsICCProfile = dlsym(library, "JxlDecoderGetColorAsICCProfile");
        jxl_.is_loaded = jxl_.GetICCProfileSize && jxl_.GetColorAsICCProfile FUNCTIONS(IS_FOUND);
    }
}

bool gwi_jxl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return jxl_.is_loaded;
}

struct gwi_jxl {
    void *decoder;
};

gwi_jxl *gwi_jxl_new(bool has_pixels) {
    gwi_jxl *jxl = calloc(1, sizeof *jxl);
    if (!jxl) return NULL;
    // Without a runner of threads it decodes on the thread of the caller: images are decoded side by side already.
    jxl->decoder = jxl_.Create(NULL);
    int events = BASIC_INFO | COLOR_ENCODING | FRAME | (has_pixels ? FULL_IMAGE : 0);
    if (jxl->decoder && jxl_.SubscribeEvents(jxl->decoder, events) == SUCCESS
        && jxl_.SetKeepOrientation(jxl->decoder, true) == SUCCESS) return jxl;
    gwi_jxl_free(jxl);
    return NULL;
}

void gwi_jxl_free(gwi_jxl *jxl) {
    if (jxl->decoder) jxl_.Destroy(jxl->decoder);
    free(jxl);
}

bool gwi_jxl_give(gwi_jxl *jxl, const void *bytes, size_t count, bool is_end) {
    if (jxl_.SetInput(jxl->decoder, bytes, count) != SUCCESS) return false;
    if (is_end) jxl_.CloseInput(jxl->decoder);
    return true;
}

size_t gwi_jxl_take_back(gwi_jxl *jxl) { return jxl_.ReleaseInput(jxl->decoder); }

gwi_jxl_event gwi_jxl_next(gwi_jxl *jxl) {
    switch (jxl_.ProcessInput(jxl->decoder)) {
    case SUCCESS: return GWI_JXL_END;
    case NEED_MORE_INPUT: return GWI_JXL_NEEDS_BYTES;
    case NEED_IMAGE_OUT_BUFFER: return GWI_JXL_NEEDS_TARGET;
    case BASIC_INFO: return GWI_JXL_HEADER;
    case COLOR_ENCODING: return GWI_JXL_PROFILE;
    case FRAME: return GWI_JXL_FRAME;
    case FULL_IMAGE: return GWI_JXL_FRAME_DONE;
    default: return GWI_JXL_DAMAGED;
    }
}

bool gwi_jxl_read_header(gwi_jxl *jxl, gwi_jxl_header *header) {
    JxlBasicInfo info;
    if (jxl_.GetBasicInfo(jxl->decoder, &info) != SUCCESS) return false;
    *header = (gwi_jxl_header){
        .width = info.xsize, .height = info.ysize, .bits = info.bits_per_sample, .loops = info.num_loops,
        .ticks_per_second = info.tps_numerator, .divisor = info.tps_denominator,
        .orientation = (uint8_t)info.orientation, .is_float = info.exponent_bits_per_sample > 0,
        .has_alpha = info.alpha_bits > 0, .is_premultiplied = info.alpha_premultiplied, .is_animated = info.have_animation,
    };
    return true;
}

size_t gwi_jxl_profile(gwi_jxl *jxl, void *bytes, size_t capacity) {
    // Version 0.9 dropped an argument that has no meaning.
    bool is_later = jxl_.Version() >= 9000;
    size_t count = 0;
    int status = is_later
        ? ((int (*)(const void *, int, size_t *))jxl_.GetICCProfileSize)(jxl->decoder, TARGET_DATA, &count)
        : ((int (*)(const void *, const void *, int, size_t *))jxl_.GetICCProfileSize)(jxl->decoder, NULL, TARGET_DATA, &count);
    if (status != SUCCESS) return 0;
    if (!bytes || count > capacity) return count;
    status = is_later
        ? ((int (*)(const void *, int, uint8_t *, size_t))jxl_.GetColorAsICCProfile)(jxl->decoder, TARGET_DATA, bytes, count)
        : ((int (*)(const void *, const void *, int, uint8_t *, size_t))jxl_.GetColorAsICCProfile)(
              jxl->decoder, NULL, TARGET_DATA, bytes, count);
    return status == SUCCESS ? count : 0;
}

uint32_t gwi_jxl_duration(gwi_jxl *jxl) {
    JxlFrameHeader header;
    return jxl_.GetFrameHeader(jxl->decoder, &header) == SUCCESS ? header.duration : 0;
}

bool gwi_jxl_set_target(gwi_jxl *jxl, void *memory, size_t count, bool has_alpha, bool is_deep) {
    JxlPixelFormat format = { has_alpha ? 4 : 3, is_deep ? TYPE_UINT16 : TYPE_UINT8, NATIVE_ENDIAN, 0 };
    size_t needed = 0;
    return jxl_.ImageOutBufferSize(jxl->decoder, &format, &needed) == SUCCESS && needed <= count
        && jxl_.SetImageOutBuffer(jxl->decoder, &format, memory, count) == SUCCESS;
}

bool gwi_jxl_flush(gwi_jxl *jxl) { return jxl_.FlushImage(jxl->decoder) == SUCCESS; }
