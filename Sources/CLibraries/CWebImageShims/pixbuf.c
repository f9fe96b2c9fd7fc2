// dladdr1 and the fields of GdkPixbufFormat.
#define _GNU_SOURCE
#define GDK_PIXBUF_ENABLE_BACKEND
#include "CWebImageShims.h"

#include <dlfcn.h>
#include <elf.h>
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <link.h>
#include <string.h>

// Whether gdk-pixbuf was built with glycin, which is then one of the libraries that it is linked with.
static bool is_linked_with_glycin(const struct link_map *library) {
    const char *names = NULL;
    for (const ElfW(Dyn) *entry = library->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB) names = (const char *)entry->d_un.d_ptr;
    // The loader makes an address of the offset where the section can be written to.
    if (names && (ElfW(Addr))names < library->l_addr) names += library->l_addr;
    if (!names) return false;
    for (const ElfW(Dyn) *entry = library->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && g_str_has_prefix(names + entry->d_un.d_val, "libglycin-")) return true;
    return false;
}

bool gwi_pixbuf_decodes_elsewhere(const char *media_type) {
    Dl_info place;
    struct link_map *library = NULL;
    if (!dladdr1((void *)gdk_pixbuf_get_formats, &place, (void **)&library, RTLD_DL_LINKMAP)) return false;
    if (!library || !is_linked_with_glycin(library)) return false;
    // A GdkPixbufLoader takes the name of the first format with the media type and then the last of the list with this name. The
    // strings of a loader that is part of gdk-pixbuf are constants of the library, others are copies from a cache file.
    GSList *formats = gdk_pixbuf_get_formats();
    const GdkPixbufFormat *used = NULL;
    for (GSList *node = formats; node; node = node->next) {
        const GdkPixbufFormat *format = node->data;
        if (format->disabled) continue;
        bool is_match = used ? !strcmp(format->name, used->name)
                             : g_strv_contains((const char *const *)format->mime_types, media_type);
        if (is_match) used = format;
    }
    Dl_info strings;
    bool is_part = used && dladdr(used->name, &strings) && strings.dli_fbase == place.dli_fbase;
    g_slist_free(formats);
    return is_part;
}

// Whether a pattern is at a place. The characters of a mask are explained at GdkPixbufModulePattern.
static bool is_match(const unsigned char *prefix, const char *mask, const uint8_t *bytes, size_t count) {
    size_t mask_length = mask ? strlen(mask) : 0;
    for (size_t i = 0; prefix[i]; i++) {
        if (i >= count) return false;
        char kind = i < mask_length ? mask[i] : ' ';
        if (kind == ' ' && bytes[i] != prefix[i]) return false;
        if (kind == '!' && bytes[i] == prefix[i]) return false;
        if (kind == 'z' && bytes[i] != 0) return false;
        if (kind == 'n' && bytes[i] == 0) return false;
    }
    return true;
}

int gwi_pixbuf_relevance(const void *format, const uint8_t *bytes, size_t count) {
    const GdkPixbufModulePattern *pattern = ((const GdkPixbufFormat *)format)->signature;
    int relevance = 0;
    for (; pattern && pattern->prefix; pattern++) {
        if (!*pattern->prefix || pattern->relevance <= relevance) continue;
        const unsigned char *prefix = (const unsigned char *)pattern->prefix;
        // A mask that begins with an asterisk matches anywhere.
        bool is_anchored = !pattern->mask || pattern->mask[0] != '*';
        const char *mask = is_anchored ? pattern->mask : pattern->mask + 1;
        if (!is_anchored) prefix++;
        size_t places = is_anchored ? 1 : count;
        for (size_t place = 0; place < places; place++) {
            if (!is_match(prefix, mask, bytes + place, count - place)) continue;
            relevance = pattern->relevance;
            break;
        }
    }
    return relevance > 100 ? 100 : relevance;
}
