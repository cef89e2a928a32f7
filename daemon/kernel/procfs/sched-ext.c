/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/sched-ext.h"

#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"

#define FILE_BYTES (8 * 1024) /* sysfs: at most a page; the events take 0.5 KB */

/* While no scheduler is loaded there is no root/, and its members are left out. */
static const struct {
        const char *file, *member;
        FileValueKind kind;
        bool is_of_scheduler;
} rows[] = {
        { "state", "state", FILE_VALUE_TEXT, false },
        { "switch_all", "switch_all", FILE_VALUE_NUMBER, false },
        { "nr_rejected", "nr_rejected", FILE_VALUE_NUMBER, false },
        { "hotplug_seq", "hotplug_seq", FILE_VALUE_NUMBER, false },
        { "enable_seq", "enable_seq", FILE_VALUE_NUMBER, false },
        { "root/ops", "ops", FILE_VALUE_TEXT, true },
        { "root/events", "events", FILE_VALUE_MAP, true },
};

int sched_ext_read(int sys_fd, JsonWriter *json, uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        char buffer[FILE_BYTES];
        size_t n;
        Span text;
        int r;

        r = text_file_open_directory(sys_fd, "kernel/sched_ext", &dir_fd);
        if (r != 0) {
                if (r != TEXT_E_ABSENT)
                        counts[text_file_outcome(r)]++;
                json_write_null(json);
                return r;
        }
        json_write_object(json);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                r = text_file_read(dir_fd, rows[i].file, buffer, sizeof(buffer), &n);
                text = (Span){ buffer, r == 0 ? n : 0 };
                if (r == 0)
                        r = file_value_write(json, rows[i].member, rows[i].kind,
                                             rows[i].kind == FILE_VALUE_MAP ? text
                                                                            : text_trim(text));
                else if (!rows[i].is_of_scheduler)
                        json_write_member_null(json, rows[i].member);
                /* Different kernels added different files, so a missing one is normal. */
                if (r != TEXT_E_ABSENT)
                        counts[text_file_outcome(r)]++;
        }
        json_write_end(json);
        return 0;
}
