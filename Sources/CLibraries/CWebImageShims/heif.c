#define _GNU_SOURCE
#include "CWebImageShims.h"

#include <dlfcn.h>

// This is what heif_init returns.
struct result {
    int code, detail;
    const char *message;
};

void gwi_load_heif_plugins(void) {
    void *heif = dlopen("libheif.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!heif) return;
    struct result (*initialize)(const void *) = (struct result (*)(const void *))dlsym(heif, "heif_init");
    if (initialize) initialize(NULL);
}
