// Averages rows of four bytes a pixel to an image that is smaller. A source pixel counts for each target pixel that it lies under by
// the area there. The rows under a target row are added first, all bytes of a row at once, and the pixels of the sum then.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int source_width, source_height, width, height;
    // For each target pixel its first source pixel and as many weights, which add up to 65536.
    int taps, *starts;
    uint16_t *weights;
    int source_row, row;
    // The rows under the target row so far, with weights that add up to 256.
    uint16_t *total;
    int total_weight;
    uint8_t *pixels;
} shrinking;

static int overlap(int start, int end, int other_start, int other_end) {
    int last = end < other_end ? end : other_end, begin = start > other_start ? start : other_start;
    return last > begin ? last - begin : 0;
}

static shrinking shrinking_new(int source_width, int source_height, int width, int height, uint8_t *pixels) {
    shrinking new = {source_width, source_height, width, height, (source_width + width - 1) / width + 1};
    if (new.taps > source_width) new.taps = source_width;
    new.starts = malloc(width * sizeof(int));
    new.weights = malloc((size_t)width * new.taps * sizeof(uint16_t));
    new.total = calloc((size_t)source_width * 4, sizeof(uint16_t));
    new.pixels = pixels;
    for (int x = 0; x < width; x++) {
        // A source pixel is `width` units wide, and a target pixel `source_width`.
        int start = (int64_t)x * source_width / width;
        if (start + new.taps > source_width) start = source_width - new.taps;
        new.starts[x] = start;
        int covered = 0, share = 0;
        for (int tap = 0; tap < new.taps; tap++) {
            int left = (start + tap) * width;
            covered += overlap(left, left + width, x * source_width, (x + 1) * source_width);
            // All but the last bit, since the largest weight has to fit.
            int next = (int64_t)covered * 65535 / source_width;
            new.weights[x * new.taps + tap] = next - share;
            share = next;
        }
    }
    return new;
}

static void shrinking_end_row(shrinking *self) {
    uint8_t *target = self->pixels + (size_t)self->row++ * self->width * 4;
    for (int x = 0; x < self->width; x++, target += 4) {
        const uint16_t *source = self->total + self->starts[x] * 4, *weights = self->weights + x * self->taps;
        uint32_t sum[4] = {1 << 23, 1 << 23, 1 << 23, 1 << 23};
        for (int tap = 0; tap < self->taps; tap++, source += 4) {
            for (int channel = 0; channel < 4; channel++) sum[channel] += (uint32_t)source[channel] * weights[tap];
        }
        for (int channel = 0; channel < 4; channel++) target[channel] = sum[channel] >> 24;
    }
    memset(self->total, 0, (size_t)self->source_width * 4 * sizeof(uint16_t));
    self->total_weight = 0;
}

static void shrinking_add(shrinking *self, const uint8_t *source) {
    int top = self->source_row++ * self->height, bottom = top + self->height;
    // A source row lies under one target row or under two.
    while (self->row < self->height) {
        int start = self->row * self->source_height, end = start + self->source_height;
        // What is covered by now, less what has been added.
        int weight = (int64_t)((bottom < end ? bottom : end) - start) * 256 / self->source_height - self->total_weight;
        int count = self->source_width * 4;
        uint16_t *restrict total = self->total;
        for (int index = 0; index < count; index++) total[index] += (uint16_t)source[index] * (uint16_t)weight;
        self->total_weight += weight;
        if (end > bottom) return;
        shrinking_end_row(self);
        if (end == bottom) return;
    }
}

static void shrinking_end(shrinking *self) {
    free(self->starts);
    free(self->weights);
    free(self->total);
}
