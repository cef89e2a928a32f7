/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/spool-path.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static int join(const char *directory, const char *rest, char **ret) {
        return asprintf(ret, "%s/%s", directory, rest) < 0 ? -ENOMEM : 0;
}

int spool_path_system(char **ret) {
        const char *given = getenv("STATE_DIRECTORY");
        char *path;

        /* Several are separated by colons; the unit has one. */
        path = given && given[0] == '/' ? strndup(given, strcspn(given, ":"))
                                        : strdup(SPOOL_PATH_SYSTEM);
        if (!path)
                return -ENOMEM;
        *ret = path;
        return 0;
}

int spool_path_private(char **ret) {
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        const struct passwd *user;

        /* Relative ones are to be ignored, says the XDG specification. */
        if (state && state[0] == '/')
                return join(state, "ctprof", ret);
        if (!home || home[0] != '/') {
                user = getpwuid(geteuid());
                home = user ? user->pw_dir : NULL;
        }
        return home && home[0] == '/' ? join(home, ".local/state/ctprof", ret) : -ENOENT;
}
