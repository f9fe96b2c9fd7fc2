#define _GNU_SOURCE
#include "WorkerShims.h"

#include <dlfcn.h>
#include <malloc.h>
#include <netdb.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static atomic_int seconds;
static atomic_int count;

void set_slow_lookup_seconds(int value) {
    atomic_store(&seconds, value);
}

int slow_lookup_count(void) {
    return atomic_load(&count);
}

typedef int (*lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (node && strcmp(node, "missing.example") == 0) return EAI_NONAME;
    if (node && strcmp(node, "slow.example") == 0) {
        // Newer versions of libcurl look up both kinds of addresses, each on a thread.
        if (!hints || hints->ai_family != AF_INET6) atomic_fetch_add(&count, 1);
        sleep((unsigned)atomic_load(&seconds));
        return EAI_NONAME;
    }
    lookup next = (lookup)dlsym(RTLD_NEXT, "getaddrinfo");
    return next ? next(node, service, hints, result) : EAI_SYSTEM;
}

int take_descriptors(int *descriptors) {
    struct rlimit limit = {64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    int taken = 0, descriptor;
    while (taken < 64 && (descriptor = dup(0)) >= 0) descriptors[taken++] = descriptor;
    return taken;
}

size_t allocated_byte_count(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
