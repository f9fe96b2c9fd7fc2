#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CWebImageSandboxShims.h"

// How a decode worker gives up its rights.

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

bool gwi_has_seccomp(void) { return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0; }

// reads_files: whether files may be opened for reading, of which Landlock says which.
static bool filter_calls(bool reads_files, bool has_threads) {
    const struct sock_filter common[] = {
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
#ifdef SYS_poll
        ALLOW(SYS_poll),
#endif
        ALLOW(SYS_ppoll),
        // No new code.
        ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC), ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
        // Seals of memory files, and what the C library asks about descriptors, but nobody else's signals.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 8), LOAD_ARGUMENT(1),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_ADD_SEALS, 5, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GET_SEALS, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFL, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFD, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFD, 1, 0), RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW),
        // abort(3), of this process: it does not kill itself as others may.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 6), LOAD_ARGUMENT(2),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGABRT, 0, 2), LOAD_ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 1, 0), RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    // No processes. The flags of clone3 are out of reach; the C library goes on with clone.
    const struct sock_filter threads[] = {
        ALLOW(SYS_set_robust_list),
#ifdef SYS_rseq
        ALLOW(SYS_rseq),
#endif
#ifdef SYS_clone3
        REFUSE_WITH(SYS_clone3, ENOSYS),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4), LOAD_ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0), RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    const struct sock_filter reading[] = {
        ALLOW_WITHOUT(SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND),
#ifdef SYS_open
        ALLOW_WITHOUT(SYS_open, 1, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND),
#endif
#ifdef SYS_access
        ALLOW(SYS_access), ALLOW(SYS_stat), ALLOW(SYS_lstat), ALLOW(SYS_readlink),
#endif
        ALLOW(SYS_faccessat), ALLOW(SYS_newfstatat), ALLOW(SYS_fstat), ALLOW(SYS_fstatfs), ALLOW(SYS_readlinkat),
        ALLOW(SYS_getdents64), ALLOW(SYS_pread64),
#ifdef SYS_statx
        ALLOW(SYS_statx),
#endif
    };
    const struct sock_filter last = RETURN(SECCOMP_RET_ERRNO | EPERM);
    struct sock_filter filter[(sizeof common + sizeof threads + sizeof reading) / sizeof *common + 1];
    size_t count = sizeof common / sizeof *common;
    memcpy(filter, common, sizeof common);
    if (has_threads) {
        memcpy(filter + count, threads, sizeof threads);
        count += sizeof threads / sizeof *threads;
    }
    if (reads_files) {
        memcpy(filter + count, reading, sizeof reading);
        count += sizeof reading / sizeof *reading;
    }
    filter[count++] = last;
    struct sock_fprog program = { .len = (unsigned short)count, .filter = filter };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else

bool gwi_has_seccomp(void) { return false; }

static bool filter_calls(bool reads_files, bool has_threads) { return false; }

#endif

// linux/landlock.h and its system calls are newer than some C libraries; their numbers are the same on all architectures.
bool gwi_has_landlock(void) { return syscall(444, NULL, 0, 1) >= 1; }

// Denies all files but those below some folders, which may be read.
static bool deny_files(const char *const *readable, size_t count) {
    struct { uint64_t files, network, scopes; } rules = { 0 };
    // linux/landlock.h: read_file and read_dir.
    struct { uint64_t allowed; int32_t parent; } __attribute__((packed)) rule = { .allowed = 1 << 2 | 1 << 3 };
    long version = syscall(444, NULL, 0, 1);
    if (version < 1) return false;
    // Execute to make_sym, then refer, truncate and ioctl_dev.
    rules.files = (1ULL << (version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13)) - 1;
    if (version >= 4) rules.network = 3;
    if (version >= 6) rules.scopes = 3;
    long ruleset = syscall(444, &rules, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0);
    if (ruleset < 0) return false;
    for (size_t index = 0; index < count; index++) {
        rule.parent = open(readable[index], O_PATH | O_DIRECTORY | O_CLOEXEC);
        // A folder of the configuration need not exist.
        if (rule.parent < 0) continue;
        syscall(445, (int)ruleset, 1, &rule, 0);
        close(rule.parent);
    }
    bool isDenied = syscall(446, (int)ruleset, 0) == 0;
    close((int)ruleset);
    return isDenied;
}

static int limit(int resource, rlim_t value) {   // No bool: `&` combines several, so that each is set whatever another says.
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0) return 0;
    if (limits.rlim_max < value) value = limits.rlim_max;
    limits.rlim_cur = limits.rlim_max = value;
    return setrlimit(resource, &limits) == 0;
}

size_t gwi_worker_load_fonts(const char **folders, size_t capacity) {
    size_t count = 0;
    void *library = dlopen("libfontconfig.so.1", RTLD_NOW);
    if (!library) return 0;
    int (*initialize)(void) = (int (*)(void))dlsym(library, "FcInit");
    void *(*list_folders)(void *) = (void *(*)(void *))dlsym(library, "FcConfigGetFontDirs");
    const char *(*next)(void *) = (const char *(*)(void *))dlsym(library, "FcStrListNext");
    if (!initialize || !list_folders || !next || !initialize()) return 0;
    // The list and its texts are kept until the worker ends.
    void *list = list_folders(NULL);
    const char *folder;
    while (list && count < capacity && (folder = next(list))) folders[count++] = folder;
    return count;
}

uint32_t gwi_worker_close_fence(gwi_worker_limits limits, const char *const *readable, size_t count, bool has_threads) {
    uint32_t fence = 0;
    // The rest of its environment is gone once files are out of reach, but for the languages of gwi_zygote_start.
    static char *languages[5];
    size_t found = 0;
    for (char **entry = environ; entry && *entry && found < 4; entry++)
        if (strncmp(*entry, "LANG", 4) == 0 || strncmp(*entry, "LC_", 3) == 0) languages[found++] = *entry;
    environ = languages;
    bool isLimited = limit(RLIMIT_AS, limits.memory) & limit(RLIMIT_CORE, 0) & limit(RLIMIT_CPU, GWI_WORKER_CPU_SECONDS);
    // Files in memory are not in the address space.
    isLimited &= limit(RLIMIT_FSIZE, limits.file) & limit(RLIMIT_NOFILE, limits.descriptors);
    if (isLimited) fence |= GWI_FENCE_LIMITS;
    // Nobody reads its memory, and it leaves no core dump where the limit is not asked.
    prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fence;
    fence |= GWI_FENCE_NO_PRIVILEGES;
    if (deny_files(readable, count)) fence |= GWI_FENCE_LANDLOCK;
    // Without Landlock, nothing would tell fonts from other files.
    if (filter_calls(count > 0 && fence & GWI_FENCE_LANDLOCK, has_threads)) fence |= GWI_FENCE_SECCOMP;
    return fence;
}
