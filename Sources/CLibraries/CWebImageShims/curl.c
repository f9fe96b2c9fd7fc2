#define _GNU_SOURCE
#include "CWebImageShims.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>

void gwi_curl_initialize(void) {
    // OpenSSL would otherwise register an exit handler that frees what network threads use. Where libcurl uses another
    // library for TLS, the function is not there.
    int (*initialize)(uint64_t, const void *);
    *(void **)&initialize = dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
    const uint64_t no_exit_handler = 0x00080000; // OPENSSL_INIT_NO_ATEXIT
    if (initialize) initialize(no_exit_handler, NULL);
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

void gwi_thread_set_name(const char *name) { pthread_setname_np(pthread_self(), name); }

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

static int refuse_request(void *context, char *address, char *local_address, int port, int local_port) {
    return CURL_PREREQFUNC_ABORT;
}

void gwi_curl_end_before_request(CURL *handle) { curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, refuse_request); }

CURLcode gwi_curl_copy_body(CURL *handle, const void *bytes) {
    return curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, bytes);
}

CURLcode gwi_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

CURLcode gwi_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

long gwi_curl_get_socket_silence(CURLM *multi, CURL *handle, bool counts_acknowledgements, int *socket) {
    // CURLINFO_ACTIVESOCKET is not set before a transfer ends, so the port of the connection tells which it is.
    long port = 0;
    if (curl_easy_getinfo(handle, CURLINFO_LOCAL_PORT, &port) != CURLE_OK || port <= 0) return -1;
    fd_set readable, writable, special;
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_ZERO(&special);
    int last = -1;
    if (curl_multi_fdset(multi, &readable, &writable, &special, &last) != CURLM_OK) return -1;
    for (int descriptor = 0; descriptor <= last; descriptor++) {
        if (!FD_ISSET(descriptor, &readable) && !FD_ISSET(descriptor, &writable)) continue;
        union {
            struct sockaddr any;
            struct sockaddr_in ip4;
            struct sockaddr_in6 ip6;
            struct sockaddr_storage storage;
        } address;
        socklen_t length = sizeof address;
        if (getsockname(descriptor, &address.any, &length) != 0) continue;
        if (address.any.sa_family != AF_INET && address.any.sa_family != AF_INET6) continue;
        if (ntohs(address.any.sa_family == AF_INET ? address.ip4.sin_port : address.ip6.sin6_port) != port) continue;
        struct tcp_info info;
        length = sizeof info;
        memset(&info, 0, sizeof info);
        if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) continue;
        *socket = descriptor;
        const uint32_t data = info.tcpi_last_data_recv, acknowledgement = info.tcpi_last_ack_recv;
        return counts_acknowledgements && acknowledgement < data ? acknowledgement : data;
    }
    return -1;
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
    const char *version = curl_version_info(CURLVERSION_NOW)->quic_version;
    return version != NULL && strstr(version, "ngtcp2") != NULL;
}
