#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CWebImageSandboxShims.h"

// The zygote is this program started again, before main. It loads what decoders need, once, and then forks a worker whenever the app
// asks for one. It sees no file of a stranger. Swift can declare neither constructors nor forks.

enum { app_socket = 3, highest_descriptor = 5 };
// Its value is the number of the socket and the kind of the workers, as in "3:1".
static const char zygote_variable[] = "GWI_DECODE_WORKER";

// Swift's part (DecodeWorkerProcess.swift). Programs that link only this target have none.
extern void gwi_worker_main(int32_t socket, int32_t kind) __attribute__((weak));
// What the tests add to their workers.
extern void gwi_worker_will_start(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

// What follows runs in the zygote and its workers.

// Whether the process was started by gwi_zygote_start: the variable alone, which anybody may set, is not enough. A program with more
// rights than its user lends them to nobody.
static bool is_zygote(const char *value) {
    int type = 0, domain = 0;
    socklen_t size = sizeof type, domain_size = sizeof domain;
    return value && strlen(value) == 3 && strncmp(value, "3:", 2) == 0 && !getauxval(AT_SECURE)
        && getsockopt(app_socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET
        && getsockopt(app_socket, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 && domain == AF_UNIX;
}

// Whether the process at the other end is the one that has started this one, and has not ended.
static bool has_app(void) {
    struct ucred peer = { 0 };
    socklen_t size = sizeof peer;
    return getsockopt(app_socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getppid();
}

static void close_from(unsigned first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
    for (long number = first, last = sysconf(_SC_OPEN_MAX); number < (last < 65536 ? last : 65536); number++) close((int)number);
}

__attribute__((constructor)) static void become_zygote(void) {
    const char *value = getenv(zygote_variable);
    if (!is_zygote(value)) return;
    // It never goes on to the main function of the app, which has ended meanwhile and would do its work again.
    if (gwi_worker_main && has_app()) {
        close_from(app_socket + 1);
        prctl(PR_SET_NAME, "image decoders");
        // When memory runs out, the kernel ends a worker rather than the app.
        int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        if (file >= 0) {
            if (write(file, "500", 3) < 0) errno = 0;
            close(file);
        }
        if (gwi_worker_will_start) gwi_worker_will_start();
        gwi_worker_main(app_socket, value[2] - '0');
    }
    _exit(0);
}

// What the app asks of a zygote.
typedef struct {
    enum { start_worker = 1, end_worker, wait_for_worker } kind;
    pid_t worker;
} request;

// The app is gone when the other end of the socket is closed, which a decoder that never returns would not notice.
static void end_with_app(int signal) {
    struct pollfd socket = { .fd = app_socket };
    int error = errno;
    if (poll(&socket, 1, 0) > 0 && socket.revents & POLLHUP) _exit(0);
    errno = error;
}

// Makes a worker of the process that the zygote has forked.
static void *become_worker(pid_t zygote, int socket, int memory, size_t size) {
    dup2(socket, app_socket);
    close(socket);
    struct sigaction action = { .sa_handler = end_with_app, .sa_flags = SA_RESTART };
    sigaction(SIGIO, &action, NULL);
    fcntl(app_socket, F_SETOWN, getpid());
    fcntl(app_socket, F_SETFL, fcntl(app_socket, F_GETFL) | O_ASYNC);
    prctl(PR_SET_NAME, "image decoder");
    // A decoder that a file has taken over blocks the signal of the socket.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != zygote) _exit(0);
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    close_from(app_socket + 1);
    if (start == MAP_FAILED) _exit(1);
    return start;
}

// Returns the signal that has ended a worker, 0, -1 while it runs, or -2 when it is none of this zygote.
static int signal_of(pid_t worker, int options) {
    int status = 0;
    pid_t ended;
    do ended = waitpid(worker, &status, options);
    while (ended < 0 && errno == EINTR);
    if (ended == 0) return -1;
    if (ended < 0) return -2;
    return ended == worker && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// Ends a worker, which may be about to end by itself. Returns the signal by which others have ended it, or 0.
static int end(pid_t worker, bool waits) {
    // Its socket is closed some time before it has ended.
    for (int attempt = 0; waits && attempt < 2000; attempt++) {
        int signal = signal_of(worker, WNOHANG);
        if (signal != -1) return signal < 0 ? 0 : signal;
        usleep(500);
    }
    int signal = worker > 0 ? signal_of(worker, WNOHANG) : -2;
    if (signal == -1) {
        kill(worker, SIGKILL);
        signal_of(worker, 0);
    }
    return signal < 0 ? 0 : signal;
}

void *gwi_zygote_run(size_t *size) {
    pid_t zygote = getpid();
    for (;;) {
        request request;
        int descriptors[2] = { -1, -1 };
        ssize_t count = gwi_message_receive(app_socket, &request, sizeof request, descriptors, 2);
        if (count != sizeof request) _exit(0);
        int32_t answer = 0;
        if (request.kind == start_worker) {
            off_t end = lseek(descriptors[1], 0, SEEK_END);
            answer = end > 0 ? fork() : -EINVAL;
            if (end > 0 && answer < 0) answer = -errno;
            if (answer == 0) {
                *size = (size_t)end;
                return become_worker(zygote, descriptors[0], descriptors[1], *size);
            }
        } else {
            answer = end(request.worker, request.kind == wait_for_worker);
        }
        for (int index = 0; index < 2; index++)
            if (descriptors[index] >= 0) close(descriptors[index]);
        gwi_bytes part = { &answer, sizeof answer };
        if (gwi_message_send(app_socket, &part, 1, NULL, 0, true) != sizeof answer) _exit(0);
    }
}

// What follows runs in the app.

bool gwi_is_sanitized(void) { return __asan_init || __tsan_init; }

bool gwi_has_foreign_rights(void) { return getauxval(AT_SECURE) != 0; }

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
    if (!gwi_worker_main || !dladdr((void *)(uintptr_t)become_zygote, &info)) return false;
    dl_iterate_phdr(find_main_program, &base);
    return (ElfW(Addr))(uintptr_t)info.dli_fbase == base;
}

// The variables without which the program, its libraries or the fonts are not found. They are gone before a file comes, but for the
// languages, which drawings choose from (systemLanguage).
static const char *const kept_variables[] = {
    "LD_LIBRARY_PATH", "GDK_PIXBUF_MODULE_FILE", "GDK_PIXBUF_MODULEDIR", "XDG_DATA_DIRS",
    "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG", "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "FONTCONFIG_SYSROOT",
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

// Moves a descriptor above those that a zygote starts with: dup2 would overwrite one of these, or keep close-on-exec where both
// numbers are the same.
static int moved_up(int descriptor) {
    if (descriptor < 0 || descriptor > highest_descriptor) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, highest_descriptor + 1);
    close(descriptor);
    return moved;
}

pid_t gwi_zygote_start(const char *path, int32_t kind, int *descriptor) {
    int sockets[2];
    char value[] = "3:0";
    pid_t child = -1;
    char *environment[kept_count + 3] = { 0 };
    size_t count = 0;
    int spawn_error = ENOMEM;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, all;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return -1;
    sockets[1] = moved_up(sockets[1]);
    if (sockets[1] < 0) spawn_error = errno;
    value[2] += (char)kind;
    environment[count++] = variable(zygote_variable, value);
    environment[count++] = variable("SWIFT_BACKTRACE", "enable=no");
    for (size_t index = 0; index < kept_count; index++) {
        const char *value = getenv(kept_variables[index]);
        if (value) environment[count++] = variable(kept_variables[index], value);
    }
    if (sockets[1] >= 0 && posix_spawnattr_init(&attributes) == 0) {
        if (posix_spawn_file_actions_init(&actions) == 0) {
            char *arguments[] = { "image-decoders", NULL };
            sigemptyset(&none);
            sigfillset(&all);
            posix_spawnattr_setsigmask(&attributes, &none);
            posix_spawnattr_setsigdefault(&attributes, &all);
            posix_spawnattr_setpgroup(&attributes, 0);
            posix_spawnattr_setflags(
                &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
            );
            posix_spawn_file_actions_adddup2(&actions, sockets[1], app_socket);
            for (int number = 0; number < 3; number++)
                posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0);
            int error = posix_spawn(&child, path, &actions, &attributes, arguments, environment);
            if (error != 0) child = -1;
            spawn_error = error;
            posix_spawn_file_actions_destroy(&actions);
        }
        posix_spawnattr_destroy(&attributes);
    }
    while (count > 0) free(environment[--count]);
    if (sockets[1] >= 0) close(sockets[1]);
    if (child < 0) {
        close(sockets[0]);
        errno = spawn_error;
        return -1;
    }
    *descriptor = sockets[0];
    return child;
}

// Returns whether the zygote has answered; otherwise errno is EPIPE, or ETIMEDOUT when it hangs.
static bool ask(int zygote, request request, const int *descriptors, size_t count, int32_t *answer) {
    gwi_bytes part = { &request, sizeof request };
    struct pollfd socket = { .fd = zygote, .events = POLLIN };
    int none = -1, ready = -1;
    if (gwi_message_send(zygote, &part, 1, descriptors, count, false) == sizeof request) {
        // It may still be loading, on a machine that swaps.
        do ready = poll(&socket, 1, 15000);
        while (ready < 0 && errno == EINTR);
    }
    if (ready > 0 && gwi_message_receive(zygote, answer, sizeof *answer, &none, 1) == sizeof *answer) return true;
    errno = ready == 0 ? ETIMEDOUT : EPIPE;
    return false;
}

pid_t gwi_zygote_make_worker(int zygote, int memory, int *descriptor) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return -1;
    int descriptors[2] = { sockets[1], memory };
    int32_t worker;
    if (!ask(zygote, (request){ .kind = start_worker }, descriptors, 2, &worker)) worker = -errno;
    close(sockets[1]);
    if (worker <= 0) {
        close(sockets[0]);
        errno = -worker;
        return -1;
    }
    *descriptor = sockets[0];
    return worker;
}

int gwi_zygote_end_worker(int zygote, pid_t worker, bool waits) {
    int32_t signal;
    request request = { .kind = waits ? wait_for_worker : end_worker, .worker = worker };
    return ask(zygote, request, NULL, 0, &signal) ? signal : -1;
}

// pidfd_open and pidfd_send_signal are newer than some C libraries; their numbers are the same on all architectures.
int gwi_process_open(pid_t process) { return (int)syscall(434, process, 0); }

void gwi_process_kill(int descriptor) { syscall(424, descriptor, SIGKILL, NULL, 0); }

int gwi_zygote_end(int zygote, pid_t process, int handle) {
    int status = 0;
    close(zygote);
    // An app that waits for all its children takes the number from the zygote, so that another process may get it.
    if (handle >= 0) {
        siginfo_t info = { 0 };
        gwi_process_kill(handle);
        while (waitid((idtype_t)3, (id_t)handle, &info, WEXITED) < 0 && errno == EINTR) {}
        close(handle);
        return info.si_code == CLD_KILLED ? info.si_status : 0;
    }
    kill(process, SIGKILL);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {}
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
