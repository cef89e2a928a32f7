/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/group-label.h"

#include <string.h>

#include "render/cell.h"
#include "render/printable.h"

void group_label_append(Buffer *label, json_object *group) {
        Span key = cell_string(cell_member(group, "key"));
        Span process = cell_string(cell_member(group, "process"));
        Span thread = cell_string(cell_member(group, "thread"));
        bool is_ended = cell_member(group, "ended");

        /*
         * "process/thread[tid]", without the process if the thread has the same name; "[ended]"
         * where all that ended with these names are a group.
         */
        if (is_ended || cell_member(group, "tid")) {
                if (process.n > 0 && !span_equal(process, thread)) {
                        printable_append_name(label, process);
                        buffer_append_byte(label, '/');
                }
                printable_append_name(label, thread);
                if (is_ended)
                        buffer_append_text(label, "[ended]");
                else
                        buffer_append_format(
                                label, "[%lld]",
                                (long long) json_object_get_int64(cell_member(group, "tid")));
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

#define NAMED_COMMANDS 2
#define TASK_NAME_CHARS 15u /* the kernel cuts what is longer */

/*
 * Returns the part of a command that the name of its process does not say: nothing, or only what
 * that runs. A script that the kernel starts by its first line gives the process its name, and not
 * its interpreter.
 */
static Span news_of(Span command, Span process) {
        const char *blank = command.n > 0 ? memchr(command.bytes, ' ', command.n) : NULL;
        size_t n = blank ? (size_t) (blank + 1 - command.bytes) : 0;
        const Span programs[] = { command, { command.bytes + n, command.n - n } };

        for (size_t i = 0; i < ELEMENTSOF(programs); i++)
                if (span_equal(programs[i], process) ||
                    (process.n >= TASK_NAME_CHARS && programs[i].n >= process.n &&
                     memcmp(programs[i].bytes, process.bytes, process.n) == 0))
                        return (Span){ command.bytes, 0 };
        if (process.n > 0 && command.n > process.n + 1 &&
            memcmp(command.bytes, process.bytes, process.n) == 0 && command.bytes[process.n] == ' ')
                return (Span){ command.bytes + process.n + 1, command.n - process.n - 1 };
        return command;
}

void group_label_append_commands(Buffer *label, json_object *group, size_t n_columns) {
        json_object *commands = cell_member(group, "commands");
        bool has_more = cell_member(group, "commandsOmitted");
        bool is_process = cell_member(group, "process") && !cell_member(group, "thread") &&
                          !cell_member(group, "cgroup");
        size_t n = cell_length(commands), at = label->n, n_key;
        Span process = cell_string(cell_member(group, "process"));

        group_label_append(label, group);
        if (!is_process || n == 0)
                return;
        n_key = label->n;
        if (n <= NAMED_COMMANDS && !has_more) {
                for (size_t i = 0; i < n; i++) {
                        json_object *name = cell_member(cell_element(commands, i), "name");
                        Span command = cell_string(name), news = news_of(command, process);

                        /* " worker.py", or " (firefox)", " (web.py, worker.py)" */
                        if (n == 1 && news.n < command.n) {
                                buffer_append_text(label, news.n > 0 ? " " : "");
                                printable_append_name(label, news);
                                continue;
                        }
                        buffer_append_text(label, i == 0 ? " (" : ", ");
                        printable_append_name(label, news.n > 0 ? news : command);
                        buffer_append_text(label, i + 1 == n ? ")" : "");
                }
                if (buffer_failure(label) != 0 ||
                    printable_width((Span){ label->bytes + at, label->n - at }) <= n_columns)
                        return;
                buffer_truncate(label, n_key);
        }
        if (n > 1)
                buffer_append_format(label, " \u00d7%zu%s", n, has_more ? "+" : "");
}
