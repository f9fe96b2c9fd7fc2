#define _GNU_SOURCE
#include "HostileCalls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool try_fork(void) {
    pid_t process = fork();
    if (process == 0) _exit(0);
    return process > 0;
}

bool try_to_attach(pid_t process) { return ptrace(PTRACE_ATTACH, process, NULL, NULL) == 0; }

bool try_to_raise_limits(void) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

// Refuses a system call from here on, also in other programs that this one starts. With an argument, only calls with that first one.
static bool refuse(int number, long argument, int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, argument < 0 ? 1 : 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)argument, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    // Without an argument, the error follows at once.
    if (argument < 0) {
        filter[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
        filter[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// landlock_create_ruleset(2).
bool refuse_landlock(void) { return refuse(444, -1, ENOSYS); }

bool refuse_seccomp(void) { return refuse(SYS_prctl, PR_SET_SECCOMP, EINVAL); }
