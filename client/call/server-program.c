/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/server-program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Relative to the directory of our executable. */
static const char *const places[] = {
        "/ctprofd",         "/../daemon/ctprofd", /* of a build tree */
        "/../sbin/ctprofd", "/../libexec/ctprofd", "/../lib/ctprof/ctprofd",
};

static bool is_program(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int try_place(const char *directory, const char *place, Buffer *ret) {
        const char *path;
        int r;

        buffer_clear(ret);
        r = buffer_append_format(ret, "%s%s", directory, place);
        if (r < 0)
                return r;
        r = buffer_terminate(ret, &path);
        if (r < 0)
                return r;
        return is_program(path) ? SERVER_PROGRAM_OK : SERVER_PROGRAM_E_NONE;
}

int server_program_find(const char *override, const char *own_directory, Buffer *ret) {
        int r;

        if (override && override[0] != '\0')
                return try_place("", override, ret);
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                r = try_place(own_directory, places[i], ret);
                if (r <= 0)
                        return r;
        }
        return try_place(CTPROF_SBINDIR, "/ctprofd", ret);
}

int server_program_find_own(Buffer *ret) {
        char path[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
        char *slash;

        /* Without /proc there are still $CTPROFD and the configured place. */
        path[n < 0 ? 0 : n] = '\0';
        slash = strrchr(path, '/');
        if (slash)
                *slash = '\0';
        return server_program_find(getenv("CTPROFD"), path, ret);
}
