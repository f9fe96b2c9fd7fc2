#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What png_whole.c needs of a PNG file that is not interlaced and has at most 8 bits a channel.
typedef struct {
    const uint8_t *data;
    size_t count;
    /// The place of the first IDAT chunk.
    size_t offset;
    uint32_t width;
    uint32_t height;
    uint8_t depth;
    /// The colour type of IHDR.
    uint8_t type;
    /// Whether the pixels get an alpha channel, for the type of the file or for tRNS.
    bool has_alpha;
    /// The transparent colour of tRNS, if there is one. Grey has it in 8 bits and in the first place.
    uint8_t key[3];
    /// The colours of PLTE and tRNS with alpha; black for those that PLTE does not have, as libpng draws them.
    uint8_t palette[256][4];
} gwi_png_layout;

/// Decodes the pixels in one go: three bytes each, or four with alpha, which is not multiplied in. libdeflate inflates twice as
/// fast as zlib, which libpng calls row by row.
/// Returns memory to be freed; NULL when anything about the file is wrong or unusual, of which libpng has to judge.
uint8_t *gwi_png_decode_whole(const gwi_png_layout *file);
