#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/memfd.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CWebImageShims.h"

// A decode worker is this program started again. What follows runs in the worker before main, or starts it; Swift can declare neither
// constructors nor filters of system calls.

enum { worker_socket = 3 };
static const char worker_variable[] = "GWI_DECODE_WORKER";

// Swift's part of the worker (WorkerMain.swift). Programs that link only this target have none.
extern void gwi_worker_main(int32_t socket) __attribute__((weak));
// What the tests add to their workers.
extern void gwi_worker_will_start(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

// Whether the process was started by gwi_worker_start: the variable alone, which anybody may set, is not enough.
static bool is_worker(void) {
    const char *value = getenv(worker_variable);
    int type = 0, domain = 0;
    struct ucred peer = { 0 };
    socklen_t size = sizeof type, domain_size = sizeof domain, peer_size = sizeof peer;
    return value && strcmp(value, "3") == 0
        && getsockopt(worker_socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET
        && getsockopt(worker_socket, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 && domain == AF_UNIX
        && getsockopt(worker_socket, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 && peer.pid == getppid();
}

// The app is gone when the other end of the socket is closed, which a decoder that never returns would not notice.
static void end_with_app(int signal) {
    struct pollfd socket = { .fd = worker_socket };
    int error = errno;
    if (poll(&socket, 1, 0) > 0 && socket.revents & POLLHUP) _exit(0);
    errno = error;
}

__attribute__((constructor)) static void become_worker(void) {
    if (!is_worker()) return;
    if (gwi_worker_main) {
#ifdef SYS_close_range
        syscall(SYS_close_range, worker_socket + 1, ~0U, 0);
#endif
        struct sigaction action = { .sa_handler = end_with_app, .sa_flags = SA_RESTART };
        sigaction(SIGIO, &action, NULL);
        fcntl(worker_socket, F_SETOWN, getpid());
        fcntl(worker_socket, F_SETFL, fcntl(worker_socket, F_GETFL) | O_ASYNC);
        prctl(PR_SET_NAME, "image decoder");
        // When memory runs out, the kernel ends a worker rather than the app.
        int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        if (file >= 0) {
            if (write(file, "500", 3) < 0) errno = 0;
            close(file);
        }
        if (gwi_worker_will_start) gwi_worker_will_start();
        gwi_worker_main(worker_socket);
    }
    _exit(0);
}

bool gwi_is_sanitized(void) { return __asan_init || __tsan_init; }

static int find_main_program(struct dl_phdr_info *info, size_t size, void *base) {
    // The main program comes first.
    *(ElfW(Addr) *)base = info->dlpi_addr;
    for (int index = 0; index < info->dlpi_phnum; index++)
        if (info->dlpi_phdr[index].p_type == PT_LOAD && info->dlpi_phdr[index].p_offset == 0)
            *(ElfW(Addr) *)base += info->dlpi_phdr[index].p_vaddr;
    return 1;
}

bool gwi_worker_is_in_program(void) {
    Dl_info info;
    ElfW(Addr) base = 0;
    if (!gwi_worker_main || !dladdr((void *)(uintptr_t)become_worker, &info)) return false;
    dl_iterate_phdr(find_main_program, &base);
    return (ElfW(Addr))(uintptr_t)info.dli_fbase == base;
}

// The variables without which the program or its libraries are not found.
static const char *const kept_variables[] = {
    "LD_LIBRARY_PATH", "GDK_PIXBUF_MODULE_FILE", "GDK_PIXBUF_MODULEDIR", "XDG_DATA_DIRS",
};
enum { kept_count = sizeof kept_variables / sizeof *kept_variables };

static char *variable(const char *name, const char *value) {
    size_t length = strlen(name), size = strlen(value) + 1;
    char *text = malloc(length + 1 + size);
    if (!text) return NULL;
    memcpy(text, name, length);
    text[length] = '=';
    memcpy(text + length + 1, value, size);
    return text;
}

pid_t gwi_worker_start(const char *path, int *descriptor) {
    int sockets[2];
    pid_t child = -1;
    char *environment[kept_count + 3] = { 0 };
    size_t count = 0;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, all;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return -1;
    // dup2 keeps close-on-exec where both numbers are the same.
    if (sockets[1] == worker_socket) {
        int moved = fcntl(sockets[1], F_DUPFD_CLOEXEC, worker_socket + 1);
        close(sockets[1]);
        sockets[1] = moved;
    }
    environment[count++] = variable(worker_variable, "3");
    environment[count++] = variable("SWIFT_BACKTRACE", "enable=no");
    for (size_t index = 0; index < kept_count; index++) {
        const char *value = getenv(kept_variables[index]);
        if (value) environment[count++] = variable(kept_variables[index], value);
    }
    if (sockets[1] >= 0 && posix_spawnattr_init(&attributes) == 0) {
        if (posix_spawn_file_actions_init(&actions) == 0) {
            char *arguments[] = { "image-decoder", NULL };
            sigemptyset(&none);
            sigfillset(&all);
            posix_spawnattr_setsigmask(&attributes, &none);
            posix_spawnattr_setsigdefault(&attributes, &all);
            posix_spawnattr_setpgroup(&attributes, 0);
            posix_spawnattr_setflags(
                &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
            );
            posix_spawn_file_actions_adddup2(&actions, sockets[1], worker_socket);
            for (int number = 0; number < 3; number++)
                posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0);
            if (posix_spawn(&child, path, &actions, &attributes, arguments, environment) != 0) child = -1;
            posix_spawn_file_actions_destroy(&actions);
        }
        posix_spawnattr_destroy(&attributes);
    }
    while (count > 0) free(environment[--count]);
    if (sockets[1] >= 0) close(sockets[1]);
    if (child < 0) {
        close(sockets[0]);
        return -1;
    }
    *descriptor = sockets[0];
    return child;
}

int gwi_worker_end(pid_t worker) {
    int status = 0;
    kill(worker, SIGKILL);
    while (waitpid(worker, &status, 0) < 0)
        if (errno != EINTR) return 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int gwi_worker_wait(pid_t worker) {
    int status = 0;
    // The socket is closed some time before the process has ended.
    for (int attempt = 0; attempt < 2000; attempt++) {
        pid_t ended = waitpid(worker, &status, WNOHANG);
        if (ended == worker) return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        if (ended < 0 && errno != EINTR) return 0;
        usleep(500);
    }
    return gwi_worker_end(worker);
}

// Messages

ssize_t gwi_message_send(int socket, const gwi_bytes *parts, size_t count, int descriptor, bool waits) {
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr header; } control = { { 0 } };
    struct iovec vectors[4];
    struct msghdr message = { .msg_iov = vectors, .msg_iovlen = count };
    ssize_t sent;
    if (count > sizeof vectors / sizeof *vectors) return -1;
    for (size_t index = 0; index < count; index++)
        vectors[index] = (struct iovec){ (void *)parts[index].start, parts[index].size };
    if (descriptor >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    }
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t gwi_message_receive(int socket, void *bytes, size_t size, int *descriptor) {
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr header; } control;
    struct iovec part = { .iov_base = bytes, .iov_len = size };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
    };
    ssize_t received;
    *descriptor = -1;
    do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0) return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        if (header->cmsg_len >= CMSG_LEN(sizeof(int))) memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    }
    // The other end sends neither two descriptors nor more than fits.
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        if (*descriptor >= 0) close(*descriptor);
        *descriptor = -1;
        errno = EPROTO;
        return -1;
    }
    return received;
}

int gwi_memory_file(const gwi_bytes *parts, size_t count) {
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
    const int seals = F_SEAL_SHRINK | F_SEAL_WRITE;
    int kept = fcntl(file, F_GET_SEALS);
    // An ordinary file has no seals, but an error.
    if (size == 0 || kept < 0 || (kept & seals) != seals || lseek(file, 0, SEEK_END) < (off_t)size) return NULL;
    void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// The fence

#if defined(__x86_64__)
#define WORKER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define WORKER_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define WORKER_ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

#ifdef WORKER_ARCHITECTURE

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOW_HALF(argument) (offsetof(struct seccomp_data, args) + 8 * (argument))
#define LOAD_ARGUMENT(argument) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_HALF(argument))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), RETURN(SECCOMP_RET_ALLOW)
// Allows a call when none of the bits of an argument is set.
#define ALLOW_WITHOUT(number, argument, bits) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), LOAD_ARGUMENT(argument), \
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)
#define REFUSE_WITH(number, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), RETURN(SECCOMP_RET_ERRNO | (error))

static bool filter_calls(void) {
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORKER_ARCHITECTURE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        // The descriptors are the socket, memory files and /dev/null.
        ALLOW(SYS_recvmsg), ALLOW(SYS_sendmsg), ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_close), ALLOW(SYS_lseek),
        ALLOW(SYS_memfd_create), ALLOW(SYS_futex),
        ALLOW(SYS_munmap), ALLOW(SYS_mremap), ALLOW(SYS_madvise), ALLOW(SYS_brk),
        ALLOW(SYS_rt_sigreturn), ALLOW(SYS_rt_sigprocmask), ALLOW(SYS_sigaltstack),
        ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_getrandom), ALLOW(SYS_sched_yield),
        ALLOW(SYS_clock_gettime), ALLOW(SYS_gettimeofday), ALLOW(SYS_clock_nanosleep), ALLOW(SYS_restart_syscall),
        ALLOW(SYS_getpid), ALLOW(SYS_gettid), ALLOW(SYS_sched_getaffinity),
        // Threads of decoders.
        ALLOW(SYS_set_robust_list),
#ifdef SYS_rseq
        ALLOW(SYS_rseq),
#endif
#ifdef SYS_poll
        ALLOW(SYS_poll),
#endif
        ALLOW(SYS_ppoll),
        // No new code.
        ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC), ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
        // Seals of memory files, and what the C library asks about descriptors, but nobody else's signals.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 6), LOAD_ARGUMENT(1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_ADD_SEALS, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GET_SEALS, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFL, 1, 0), RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW),
        // abort(3), of this process.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4), LOAD_ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 1, 0), RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
        // Threads, but no processes. The flags of clone3 are out of reach; the C library goes on with clone.
#ifdef SYS_clone3
        REFUSE_WITH(SYS_clone3, ENOSYS),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4), LOAD_ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0), RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else

static bool filter_calls(void) { return false; }

#endif

// linux/landlock.h and its system calls are newer than some C libraries; their numbers are the same on all architectures.
static bool deny_files(void) {
    struct { uint64_t files, network, scopes; } rules = { 0 };
    long version = syscall(444, NULL, 0, 1);
    if (version < 1) return false;
    // Execute to make_sym, then refer, truncate and ioctl_dev.
    rules.files = (1ULL << (version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13)) - 1;
    if (version >= 4) rules.network = 3;
    if (version >= 6) rules.scopes = 3;
    long ruleset = syscall(444, &rules, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0);
    if (ruleset < 0) return false;
    bool isDenied = syscall(446, (int)ruleset, 0) == 0;
    close((int)ruleset);
    return isDenied;
}

static bool limit(int resource, rlim_t value) {
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0) return false;
    if (limits.rlim_max < value) value = limits.rlim_max;
    limits.rlim_cur = limits.rlim_max = value;
    return setrlimit(resource, &limits) == 0;
}

uint32_t gwi_worker_close_fence(uint64_t memory) {
    uint32_t fence = 0;
    // The rest of its environment is gone once files are out of reach.
    clearenv();
    bool isLimited = limit(RLIMIT_AS, memory) & limit(RLIMIT_CORE, 0) & limit(RLIMIT_NOFILE, 64) & limit(RLIMIT_CPU, 3600);
    if (isLimited) fence |= GWI_FENCE_LIMITS;
    // Nobody reads its memory, and it leaves no core dump where the limit is not asked.
    prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fence;
    fence |= GWI_FENCE_NO_PRIVILEGES;
    if (deny_files()) fence |= GWI_FENCE_LANDLOCK;
    if (filter_calls()) fence |= GWI_FENCE_SECCOMP;
    return fence;
}
