#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <unistd.h>

#include "CWebImageShims.h"

extern char **environ;

// Swift does not import posix_spawn_file_actions_addclosefrom_np.

/// - flags: Further flags of the attributes.
/// - input, output: The descriptors of the standard input, and of the standard output and error; -1 for /dev/null.
static pid_t spawn(char *const *arguments, char *const *environment, short flags, int input, int output) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    sigset_t none, all;
    int error = posix_spawnattr_init(&attributes);
    if (error != 0) return -error;
    error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        sigemptyset(&none);
        sigfillset(&all);
        // Threads of libdispatch block all signals, and children inherit the mask: nothing could end them.
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        for (int descriptor = 0; descriptor < 3; descriptor++) {
            int source = descriptor == 0 ? input : output;
            if (source >= 0)
                posix_spawn_file_actions_adddup2(&actions, source, descriptor);
            else
                posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY, 0);
        }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
        error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return error == 0 ? child : -error;
}

pid_t gwi_spawn(char *const *arguments) { return spawn(arguments, environ, POSIX_SPAWN_SETPGROUP, -1, -1); }

pid_t gwi_spawn_piped(char *const *arguments, char *const *environment, int *input, int *output) {
    int in[2] = {-1, -1}, out[2];
    pid_t child;
    if (pipe2(out, O_CLOEXEC) != 0) return -errno;
    if (input && pipe2(in, O_CLOEXEC) != 0) {
        child = -errno;
    } else {
        child = spawn(arguments, environment, 0, in[0], out[1]);
        if (input) close(in[0]);
    }
    close(out[1]);
    if (child < 0) {
        close(out[0]);
        if (in[1] >= 0) close(in[1]);
        return child;
    }
    if (input) *input = in[1];
    *output = out[0];
    return child;
}
