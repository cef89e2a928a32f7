/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/local-spool.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/directory.h"
#include "session/complain.h"

int local_spool_default(const char *xdg_state_home, const char *home, Buffer *ret) {
        /* The XDG specification says to ignore relative paths. */
        if (xdg_state_home && xdg_state_home[0] == '/')
                return buffer_append_format(ret, "%s/ctprof", xdg_state_home);
        if (home && home[0] == '/')
                return buffer_append_format(ret, "%s/.local/state/ctprof", home);
        return 0;
}

static int append_default(Buffer *path) {
        const char *home = getenv("HOME");
        struct passwd *passwd;

        if (!home || home[0] != '/') {
                passwd = getpwuid(geteuid());
                home = passwd ? passwd->pw_dir : NULL;
        }
        return local_spool_default(getenv("XDG_STATE_HOME"), home, path);
}

static int append_absolute(Buffer *path, const char *given) {
        char here[PATH_MAX];

        if (given[0] == '/')
                return buffer_append_text(path, given);
        if (!getcwd(here, sizeof(here)))
                return -errno;
        return buffer_append_format(path, "%s/%s", here, given);
}

int local_spool_prepare(const char *path, char **ret) {
        _cleanup_(buffer_done) Buffer absolute = {};
        _cleanup_(freep) char *text = NULL;
        char quoted[QUOTE_BYTES];
        int r;

        r = path ? append_absolute(&absolute, path) : append_default(&absolute);
        if (r == 0 && absolute.n == 0)
                return complain(STATUS_FAILED, "There is no home directory for the spool: name one "
                                               "with --spool DIR.");
        /* mkdir(2) and ctprofd treat a trailing slash as part of the path. */
        while (r == 0 && absolute.n > 1 && absolute.bytes[absolute.n - 1] == '/')
                absolute.n--;
        if (r == 0)
                r = buffer_take_text(&absolute, &text);
        if (r != 0)
                return complain_errno(r, "find the spool directory");
        r = directory_make(text);
        if (r < 0)
                return complain(STATUS_FAILED, "The spool directory %s cannot be made: %s.",
                                quote(text, quoted), strerror(-r));
        *ret = TAKE_PTR(text);
        return 0;
}
