// The start of decode workers, their messages and their fence, for which Swift has neither constructors nor forks, and no macros of
// the kernel's headers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Decode workers: this program started again, with a socket on which it takes files and answers with pixels.

// Whether the program was built with AddressSanitizer or ThreadSanitizer, which the fence of a worker would stop.
bool gwi_is_sanitized(void);
// Whether the program has more rights than whoever started it: setuid, setgid or capabilities of its file.
bool gwi_has_foreign_rights(void);
// Whether the program itself becomes a zygote when it is started as one; a program that has loaded this library later on does not.
bool gwi_worker_is_in_program(void);
// Starts the process of which workers are made. Returns it, or -1 and errno, and the socket.
// kind: A digit that the workers get.
pid_t gwi_zygote_start(const char *path, int32_t kind, int *descriptor);
// Makes a worker. Returns its process, or -1 and errno, which is EPIPE when the zygote has ended and ETIMEDOUT when it hangs, and its socket.
// memory: The descriptor of gwi_worker_memory.
pid_t gwi_zygote_make_worker(int zygote, int memory, int *descriptor);
// Ends a worker, or waits for one that has closed its socket. Returns the signal by which others have ended it, 0, or -1 when the
// zygote has ended.
int gwi_zygote_end_worker(int zygote, pid_t worker, bool waits);
// Names a process for as long as the descriptor is open, also when it has ended and its number names another one. Returns -1 before Linux 5.3.
int gwi_process_open(pid_t process);
void gwi_process_kill(int descriptor);
// Ends a zygote and its workers. Returns the signal that has ended it, or 0 when it had ended by itself.
// handle: What gwi_process_open has returned for it.
int gwi_zygote_end(int zygote, pid_t process, int handle);
// In the zygote: answers the app for as long as there is one. Returns in each worker, with the memory that it shares with the app.
void *gwi_zygote_run(size_t *size);
// Makes memory that this process shares with a worker, and that nobody can make smaller. Returns its descriptor, or -1.
int gwi_worker_memory(size_t size, void **memory);

// Bytes of a message or a file.
typedef struct {
    const void *start;
    size_t size;
} gwi_bytes;

// Sends one message, with at most two descriptors. Returns its size, or -1.
ssize_t gwi_message_send(
    int socket, const gwi_bytes *parts, size_t count, const int *descriptors, size_t descriptor_count, bool waits
);
// Receives one message, and the descriptors that came with it, or -1 for each. Returns its size, 0 at the end, or -1.
ssize_t gwi_message_receive(int socket, void *bytes, size_t size, int *descriptors, size_t descriptor_count);
// Makes a sealed file in memory. Returns its descriptor, or -1.
int gwi_memory_file(const gwi_bytes *parts, size_t count);
// Maps a file in memory for reading. Returns NULL when it has another size or holes, or is not sealed, so that it could change.
void *gwi_memory_file_map(int file, size_t size);
// Maps any file for reading, whose sender must be trusted. Returns NULL when it is smaller.
void *gwi_file_map(int file, size_t size);
// Gives memory back that malloc keeps; malloc_trim(3) is not in the Glibc module.
void gwi_malloc_trim(void);

// The processor time that a worker may use.
enum { GWI_WORKER_CPU_SECONDS = 3600 };
// Whether the kernel lets processes give up access to files.
bool gwi_has_landlock(void);
// Whether the kernel filters the system calls of processes, and the filter knows this architecture.
bool gwi_has_seccomp(void);
// What a worker has given up.
enum {
    GWI_FENCE_NO_PRIVILEGES = 1,
    GWI_FENCE_SECCOMP = 2,
    GWI_FENCE_LANDLOCK = 4,
    GWI_FENCE_LIMITS = 8,
};
// Loads the configuration of fontconfig. Returns the number of folders with fonts, which are kept.
size_t gwi_worker_load_fonts(const char **folders, size_t capacity);

typedef struct {
    /// The bytes that may be mapped.
    uint64_t memory;
    /// The size of a file that is written, such as one in memory.
    uint64_t file;
    /// The number of open files.
    uint64_t descriptors;
} gwi_worker_limits;

// Takes all rights from this process, but to read the files below some folders. Returns what the kernel offers of that.
// has_threads: whether threads may be started.
uint32_t gwi_worker_close_fence(gwi_worker_limits limits, const char *const *readable, size_t count, bool has_threads);
