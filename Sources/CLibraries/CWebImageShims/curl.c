#define _GNU_SOURCE
#include "CWebImageShims.h"

#include <dlfcn.h>
#include <string.h>

void gwi_curl_initialize(void) {
    // OpenSSL would otherwise register an exit handler that frees what network threads use. Where libcurl uses another
    // library for TLS, the function is not there.
    int (*initialize)(uint64_t, const void *);
    *(void **)&initialize = dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
    const uint64_t no_exit_handler = 0x00080000; // OPENSSL_INIT_NO_ATEXIT
    if (initialize) initialize(no_exit_handler, NULL);
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURLcode gwi_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode gwi_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode gwi_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode gwi_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode gwi_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

CURLcode gwi_curl_set_data_function(CURL *handle, CURLoption option, gwi_curl_data_function function) {
    return curl_easy_setopt(handle, option, function);
}

CURLcode gwi_curl_copy_body(CURL *handle, const void *bytes) {
    return curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, bytes);
}

CURLcode gwi_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode gwi_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode gwi_curl_get_string(CURL *handle, CURLINFO info, const char **value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLMcode gwi_curl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

CURLSHcode gwi_curl_share_set_data(CURLSH *handle, curl_lock_data value) {
    return curl_share_setopt(handle, CURLSHOPT_SHARE, value);
}

bool gwi_curl_has_http3(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP3) != 0;
}

bool gwi_curl_has_ngtcp2(void) {
    const char *version = curl_version_info(CURLVERSION_NOW)->quic_version;
    return version != NULL && strstr(version, "ngtcp2") != NULL;
}
