#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <unistd.h>

#include "CWebImageShims.h"

extern char **environ;

// Swift does not import posix_spawn_file_actions_addclosefrom_np.

pid_t gwi_spawn(char *const *arguments, char *const *environment, bool has_group, int input, int output) {
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
        const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        posix_spawnattr_setflags(&attributes, has_group ? flags | POSIX_SPAWN_SETPGROUP : flags);
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
        error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environment ? environment : environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return error == 0 ? child : -error;
}

bool gwi_pipe(int *ends) { return pipe2(ends, O_CLOEXEC) == 0; }
