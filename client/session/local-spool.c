/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/local-spool.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "session/complain.h"

int local_spool_default(const char *xdg_state_home, const char *home, Buffer *ret) {
        /* The XDG specification says to ignore relative paths. */
        if (xdg_state_home && xdg_state_home[0] == '/')
                return buffer_append_format(ret, "%s/ctprof", xdg_state_home);
        if (home && home[0] == '/')
                return buffer_append_format(ret, "%s/.local/state/ctprof", home);
        return 0;
}

static void append_default(Buffer *path) {
        const char *home = getenv("HOME");
        struct passwd *passwd;

        if (!home || home[0] != '/') {
                passwd = getpwuid(geteuid());
                home = passwd ? passwd->pw_dir : NULL;
        }
        (void) local_spool_default(getenv("XDG_STATE_HOME"), home, path);
}

int local_spool_prepare(const char *path, char **ret) {
        _cleanup_(buffer_done) Buffer absolute = {};
        _cleanup_(freep) char *text = NULL;
        char quoted[QUOTE_BYTES], here[PATH_MAX];
        int r;

        if (!path)
                append_default(&absolute);
        else if (path[0] == '/')
                (void) buffer_append_text(&absolute, path);
        else if (getcwd(here, sizeof(here)))
                (void) buffer_append_format(&absolute, "%s/%s", here, path);
        else
                return complain_errno(-errno, "find the spool directory");
        if (buffer_failure(&absolute) == 0 && absolute.n == 0)
                return complain(STATUS_FAILED, "There is no home directory for the spool: name one "
                                               "with --spool DIR.");
        /* mkdir(2) and ctprofd treat a trailing slash as part of the path. */
        while (absolute.n > 1 && absolute.bytes[absolute.n - 1] == '/')
                absolute.n--;
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
