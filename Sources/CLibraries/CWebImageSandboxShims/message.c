#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "CWebImageSandboxShims.h"

// Messages with descriptors, and files in memory, between the app and its decode workers.

enum { most_descriptors = 2 };

typedef union {
    char bytes[CMSG_SPACE(most_descriptors * sizeof(int))];
    struct cmsghdr header;
} control_data;

ssize_t gwi_message_send(
    int socket, const gwi_bytes *parts, size_t count, const int *descriptors, size_t descriptor_count, bool waits
) {
    control_data control = { { 0 } };
    struct iovec vectors[4];
    struct msghdr message = { .msg_iov = vectors, .msg_iovlen = count };
    ssize_t sent;
    if (count > sizeof vectors / sizeof *vectors || descriptor_count > most_descriptors) return -1;
    for (size_t index = 0; index < count; index++)
        vectors[index] = (struct iovec){ (void *)parts[index].start, parts[index].size };
    if (descriptor_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), descriptors, descriptor_count * sizeof(int));
    }
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t gwi_message_receive(int socket, void *bytes, size_t size, int *descriptors, size_t descriptor_count) {
    control_data control;
    struct iovec part = { .iov_base = bytes, .iov_len = size };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
        .msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int)),
    };
    ssize_t received;
    size_t found = 0;
    if (descriptor_count > most_descriptors) return -1;
    for (size_t index = 0; index < descriptor_count; index++) descriptors[index] = -1;
    do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0) return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t length = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < length; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof descriptor);
            // There is room for a second one where the control data of one is padded.
            if (found < descriptor_count) descriptors[found++] = descriptor; else close(descriptor);
        }
    }
    // The other end sends neither more descriptors nor more than fits.
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        for (size_t index = 0; index < found; index++) {
            close(descriptors[index]);
            descriptors[index] = -1;
        }
        errno = EPROTO;
        return -1;
    }
    return received;
}

// Whether a file may be as large (`ulimit -f`), which holds for memory files, too. One that grows beyond ends the app with SIGXFSZ.
static bool may_be_as_large(size_t size) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

int gwi_memory_file(const gwi_bytes *parts, size_t count) {
    size_t size = 0;
    for (size_t index = 0; index < count; index++) size += parts[index].size;
    if (!may_be_as_large(size)) return -1;
    int file = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    for (size_t index = 0; index < count; index++) {
        const char *start = parts[index].start;
        size_t left = parts[index].size;
        while (left > 0) {
            ssize_t written = write(file, start, left);
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) {
                close(file);
                return -1;
            }
            start += written;
            left -= (size_t)written;
        }
    }
    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    return file;
}

void *gwi_memory_file_map(int file, size_t size) {
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int kept = fcntl(file, F_GET_SEALS);
    // An ordinary file has no seals, but an error.
    if (kept < 0 || (kept & seals) != seals) return NULL;
    // Holes would take this process's memory when it reads them.
    struct stat status;
    if (fstat(file, &status) != 0 || status.st_size != (off_t)size || (uint64_t)status.st_blocks * 512 < size) return NULL;
    return gwi_file_map(file, size);
}

void *gwi_file_map(int file, size_t size) {
    if (size == 0 || lseek(file, 0, SEEK_END) < (off_t)size) return NULL;
    // Before Linux 6.7, what is sealed cannot be mapped as shared. Pages that nobody writes to are shared anyway.
    void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void gwi_malloc_trim(void) { malloc_trim(0); }

int gwi_worker_memory(size_t size, void **memory) {
    if (!may_be_as_large(size)) return -1;
    int file = memfd_create("decoder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    // A worker that made it smaller would make the app read behind its end.
    if (ftruncate(file, (off_t)size) == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (*memory != MAP_FAILED) return file;
    }
    close(file);
    return -1;
}
