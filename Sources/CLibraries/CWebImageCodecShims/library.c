#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "CWebImageCodecShims.h"

// dlopen(3) of a library with all that it needs takes some 10 ms and megabytes, of which apps without such images need neither.
bool gwi_library_is_installed(const char *name) {
    void *program = dlopen(NULL, RTLD_LAZY);
    Dl_serinfo size, *paths = NULL;
    bool is_found = false;
    if (program && dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0 && (paths = malloc(size.dls_size))) {
        *paths = size;
        if (dlinfo(program, RTLD_DI_SERINFO, paths) != 0) paths->dls_cnt = 0;
        for (unsigned index = 0; index < paths->dls_cnt && !is_found; index++) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%s/%s", paths->dls_serpath[index].dls_name, name);
            is_found = access(path, R_OK) == 0;
        }
    }
    free(paths);
    if (program) dlclose(program);
    // The cache of ldconfig may name other folders.
    return is_found || dlopen(name, RTLD_LAZY | RTLD_LOCAL);
}
