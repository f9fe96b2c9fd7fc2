#pragma once

#include <stdbool.h>
#include <sys/types.h>

// What Swift does not let a decoder of the tests try. Each returns whether it was let through.
bool try_fork(void);
bool try_to_attach(pid_t process);
bool try_to_raise_limits(void);

// Let this process, and those that it starts, find a kernel without a protection. Each returns whether that worked.
bool refuse_landlock(void);
bool refuse_seccomp(void);
