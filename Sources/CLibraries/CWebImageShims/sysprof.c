// Writes marks into the ring buffer of sysprof, which reads them in another process. Its layout and that of a frame are those of
// sysprof's mapped-ring-buffer.c and sysprof-capture-types.h, which are the same in all versions from 3.38 on. The functions of
// libsysprof-capture do the same; it is a static library that apps would have to build with.
#define _GNU_SOURCE
#include "CWebImageShims.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The first page of the buffer. The other process moves the head.
typedef struct {
    uint32_t head;
    uint32_t tail;
    uint32_t offset;
    uint32_t size;
} ring_header;

// SysprofCaptureMark, which has a frame at its beginning and a text of any length at its end.
typedef struct {
    uint16_t length;
    int16_t processor;
    int32_t process;
    int64_t time;
    uint32_t type;
    uint32_t padding;
    int64_t duration;
    char group[24];
    char name[40];
} mark_frame;

_Static_assert(sizeof(mark_frame) == 96, "SysprofCaptureMark has 96 bytes");

enum { MARK_TYPE = 10, LONGEST_MESSAGE = 400 };

struct gwi_sysprof_ring {
    uint8_t *map;
    size_t page;
    size_t size;
};

gwi_sysprof_ring *gwi_sysprof_ring_new(int file) {
    struct stat status;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (fstat(file, &status) != 0 || status.st_size < (off_t)(2 * page) || status.st_size > INT32_MAX) return NULL;
    size_t size = (size_t)status.st_size - page;
    if (size % page != 0) return NULL;
    // The body is there twice, one after the other, so that a frame at its end goes on at its beginning.
    uint8_t *map = mmap(NULL, page + 2 * size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) return NULL;
    ring_header *header = (ring_header *)map;
    void *second = mmap(map + page + size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)page);
    gwi_sysprof_ring *ring = second == MAP_FAILED ? NULL : malloc(sizeof *ring);
    if (!ring || header->offset != page || header->size != size) {
        free(ring);
        munmap(map, page + 2 * size);
        return NULL;
    }
    *ring = (gwi_sysprof_ring){ .map = map, .page = page, .size = size };
    return ring;
}

void gwi_sysprof_ring_free(gwi_sysprof_ring *ring) {
    munmap(ring->map, ring->page + 2 * ring->size);
    free(ring);
}

bool gwi_sysprof_ring_mark(gwi_sysprof_ring *ring, const gwi_sysprof_mark *mark) {
    ring_header *header = (ring_header *)ring->map;
    size_t count = strnlen(mark->message, LONGEST_MESSAGE);
    // Frames have whole words.
    size_t length = (sizeof(mark_frame) + count + 1 + 7) & ~(size_t)7;
    uint32_t head = __atomic_load_n(&header->head, __ATOMIC_SEQ_CST);
    uint32_t tail = __atomic_load_n(&header->tail, __ATOMIC_SEQ_CST);
    if (head >= ring->size || tail >= ring->size || length >= ring->size) return false;
    // The tail stays behind the head, since an empty buffer is one where they are equal.
    size_t limit = head <= tail && head != tail ? head + ring->size : head;
    if (head != tail && tail + length >= limit) return false;
    uint8_t *start = ring->map + ring->page + tail;
    mark_frame frame = {
        .length = (uint16_t)length,
        .processor = (int16_t)sched_getcpu(),
        .process = getpid(),
        .time = mark->time,
        .type = MARK_TYPE,
        .duration = mark->duration
    };
    // The last byte of both stays zero.
    strncpy(frame.group, mark->group, sizeof frame.group - 1);
    strncpy(frame.name, mark->name, sizeof frame.name - 1);
    memcpy(start, &frame, sizeof frame);
    memset(start + sizeof frame, 0, length - sizeof frame);
    memcpy(start + sizeof frame, mark->message, count);
    uint32_t next = tail + (uint32_t)length;
    if (next >= ring->size) next -= (uint32_t)ring->size;
    __atomic_store_n(&header->tail, next, __ATOMIC_SEQ_CST);
    return true;
}
