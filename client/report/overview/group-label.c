/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/group-label.h"

#include <string.h>

#include "render/cell.h"
#include "render/printable.h"

/*
 * "process/thread[tid]", without the process if the thread has the same name; "[ended]" where all
 * who ended with these names are a group.
 */
static void append_thread(Buffer *label, json_object *group) {
        Span process = cell_string(cell_member(group, "process"));
        Span thread = cell_string(cell_member(group, "thread"));

        if (process.n > 0 && !span_equal(process, thread)) {
                printable_append_name(label, process);
                buffer_append_byte(label, '/');
        }
        printable_append_name(label, thread);
        if (cell_member(group, "ended"))
                buffer_append_text(label, "[ended]");
        else
                buffer_append_format(label, "[%lld]",
                                     (long long) json_object_get_int64(cell_member(group, "tid")));
}

void group_label_append(Buffer *label, json_object *group) {
        Span key = cell_string(cell_member(group, "key"));

        if (cell_member(group, "tid") || cell_member(group, "ended")) {
                append_thread(label, group);
                return;
        }
        /* The name of a thread or process may be empty; an empty cgroup is an unknown one. */
        if (key.n == 0)
                buffer_append_text(label,
                                   cell_member(group, "process") || cell_member(group, "thread")
                                           ? "\"\""
                                           : "(unknown)");
        while (key.n > 0) {
                const char *joint = memchr(key.bytes, '\x1f', key.n);
                size_t n = joint ? (size_t) (joint - key.bytes) : key.n;

                printable_append_name(label, (Span){ key.bytes, n });
                if (!joint)
                        break;
                buffer_append_text(label, " / ");
                key = (Span){ joint + 1, key.n - n - 1 };
        }
}
