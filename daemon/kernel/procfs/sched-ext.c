/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/sched-ext.h"

#include "base/number.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"

#define FILE_BYTES (8 * 1024) /* sysfs: at most a page; the events take 0.5 KB */

typedef struct SchedExtReader {
        int dir_fd;
        JsonWriter *json;
        uint64_t *counts;
        char buffer[FILE_BYTES];
} SchedExtReader;

/* Different kernels added different files, so a missing one is normal. */
static int read_text(SchedExtReader *reader, const char *name, Span *ret) {
        size_t n;
        int r;

        r = text_file_read(reader->dir_fd, name, reader->buffer, sizeof(reader->buffer), &n);
        if (r != 0)
                return r;
        *ret = (Span){ reader->buffer, n };
        return 0;
}

static void count(SchedExtReader *reader, int r) {
        if (r != PROCFS_E_ABSENT)
                reader->counts[text_file_outcome(r)]++;
}

static void write_number(SchedExtReader *reader, const char *name) {
        uint64_t value;
        Span text;
        int r;

        r = read_text(reader, name, &text);
        if (r == 0 && !number_parse_u64(text_trim(text), &value))
                r = PROCFS_E_MALFORMED;
        count(reader, r);
        if (r == 0)
                json_write_member_u64(reader->json, name, value);
        else
                json_write_member_null(reader->json, name);
}

int sched_ext_read(int sys_fd, JsonWriter *json, uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        SchedExtReader reader = { .json = json, .counts = counts };
        Span text, key, value;
        NumberMap events;
        Cursor lines;
        int r;

        r = text_file_open_directory(sys_fd, "kernel/sched_ext", &dir_fd);
        if (r != 0) {
                count(&reader, r);
                json_write_null(json);
                return r;
        }
        reader.dir_fd = dir_fd;
        json_write_object(json);
        r = read_text(&reader, "state", &text);
        count(&reader, r);
        if (r == 0)
                json_write_member_name(json, "state", text_trim(text));
        else
                json_write_member_null(json, "state");
        write_number(&reader, "switch_all");
        write_number(&reader, "nr_rejected");
        write_number(&reader, "hotplug_seq");
        write_number(&reader, "enable_seq");

        /* While no scheduler is loaded there is no root/, and these members are left out. */
        r = read_text(&reader, "root/ops", &text);
        count(&reader, r);
        if (r == 0)
                json_write_member_name(json, "ops", text_trim(text));
        r = read_text(&reader, "root/events", &text);
        if (r == 0) {
                bool is_good = true;

                events.n_entries = 0;
                lines = cursor_over(text);
                while (cursor_flat_pair(&lines, &key, &value))
                        is_good = number_map_put(&events, key, value) && is_good;
                json_write_key(json, "events");
                number_map_write_json(json, &events);
                if (!is_good || !cursor_is_at_end(&lines))
                        r = PROCFS_E_MALFORMED;
        }
        count(&reader, r);
        json_write_end(json);
        return 0;
}
