#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>

#include "CWebImageShims.h"

extern char **environ;

// Swift does not import posix_spawn_file_actions_addclosefrom_np.

pid_t gwi_spawn(char *const *arguments) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    sigset_t none, all;
    if (posix_spawnattr_init(&attributes) != 0) return -1;
    if (posix_spawn_file_actions_init(&actions) == 0) {
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        for (int descriptor = 0; descriptor < 3; descriptor++)
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
        if (posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environ) != 0) child = -1;
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return child;
}
