#define _GNU_SOURCE
#include "HostileCalls.h"

#include <sys/ptrace.h>
#include <sys/resource.h>
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
