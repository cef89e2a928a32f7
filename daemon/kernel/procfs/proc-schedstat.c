/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-schedstat.h"

#include "base/number.h"
#include "kernel/text/cursor.h"

static bool parse_next(Cursor *words, uint64_t *ret) {
        Span word;

        return cursor_word(words, &word) && number_parse_u64(word, ret);
}

int proc_schedstat_parse(Span text, ProcSchedstat *ret) {
        Cursor lines = cursor_over(text), words;
        ProcSchedstat schedstat = {};
        Span line;

        *ret = schedstat;
        if (!cursor_line(&lines, &line))
                return PROCFS_E_MALFORMED;
        words = cursor_over(line);
        schedstat.has_run_time = parse_next(&words, &schedstat.run_time_ns);
        schedstat.has_wait_time = parse_next(&words, &schedstat.wait_time_ns);
        schedstat.has_timeslices = parse_next(&words, &schedstat.timeslices);

        *ret = schedstat;
        if (!schedstat.has_run_time || !schedstat.has_wait_time || !schedstat.has_timeslices)
                return PROCFS_E_MALFORMED;
        return 0;
}
