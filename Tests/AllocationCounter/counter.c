#include "AllocationCounter.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

// glibc keeps its own functions under these names for programs that replace malloc (malloc(3)).
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

extern void __libc_free(void *memory);

static atomic_long count;
static _Thread_local long own_count;
static atomic_long bytes;
static atomic_long peak;

long allocation_count(void) {
    return atomic_load_explicit(&count, memory_order_relaxed);
}

long own_allocation_count(void) {
    return own_count;
}

long allocated_bytes(void) {
    return atomic_load_explicit(&bytes, memory_order_relaxed);
}

long allocated_peak(void) {
    return atomic_load_explicit(&peak, memory_order_relaxed);
}

void allocated_peak_reset(void) {
    atomic_store_explicit(&peak, allocated_bytes(), memory_order_relaxed);
}

static void *add(void *memory) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    own_count++;
    long size = memory ? (long)malloc_usable_size(memory) : 0;
    long now = atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed) + size;
    long highest = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > highest && !atomic_compare_exchange_weak(&peak, &highest, now)) {}
    return memory;
}

static void subtract(void *memory) {
    if (memory) atomic_fetch_sub_explicit(&bytes, (long)malloc_usable_size(memory), memory_order_relaxed);
}

void *malloc(size_t size) {
    return add(__libc_malloc(size));
}

void *calloc(size_t number, size_t size) {
    return add(__libc_calloc(number, size));
}

void *realloc(void *memory, size_t size) {
    subtract(memory);
    return add(__libc_realloc(memory, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return add(__libc_memalign(alignment, size));
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = add(__libc_memalign(alignment, size));
    return *memory ? 0 : 12;
}

void free(void *memory) {
    subtract(memory);
    __libc_free(memory);
}
