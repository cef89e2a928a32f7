/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log/log-limit.h"

#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/macro.h"

static bool is_over(const LogLimit *limit, const LogAllowance *allowance, uint64_t now_mono_ns) {
        return allowance->n_passed == 0 || now_mono_ns - allowance->begin_ns >= limit->interval_ns;
}

/*
 * The entry of @uid, else one whose interval is over. What the latter suppressed is added to the
 * shared allowance.
 */
static LogAllowance *find_allowance(LogLimit *limit, uid_t uid, uint64_t now_mono_ns) {
        LogAllowance *unused = NULL;

        for (size_t i = 0; i < ELEMENTSOF(limit->users); i++) {
                LogAllowance *allowance = &limit->users[i];

                if (allowance->n_passed > 0 && allowance->uid == uid)
                        return allowance;
                if (!unused && is_over(limit, allowance, now_mono_ns))
                        unused = allowance;
        }
        if (!unused)
                return &limit->others;
        limit->others.n_suppressed += unused->n_suppressed;
        *unused = (LogAllowance){ .uid = uid };
        return unused;
}

bool log_limit_pass(LogLimit *limit, uid_t uid, uint64_t now_mono_ns, unsigned *ret_n_suppressed) {
        LogAllowance *allowance = find_allowance(limit, uid, now_mono_ns);

        *ret_n_suppressed = 0;
        if (is_over(limit, allowance, now_mono_ns)) {
                *ret_n_suppressed = TAKE(allowance->n_suppressed, 0);
                allowance->begin_ns = now_mono_ns;
                allowance->n_passed = 0;
        }
        if (allowance->n_passed >= limit->burst) {
                allowance->n_suppressed++;
                return false;
        }
        allowance->n_passed++;
        return true;
}

const char *log_suppressed(unsigned n, char ret[static LOG_SUPPRESSED_BYTES]) {
        ret[0] = '\0';
        if (n > 0)
                (void) snprintf(ret, LOG_SUPPRESSED_BYTES, " (%u other%s not logged)", n,
                                n == 1 ? " was" : "s were");
        return ret;
}
