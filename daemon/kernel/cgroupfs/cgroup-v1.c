/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/cgroupfs/cgroup-v1.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/number.h"
#include "kernel/text/cursor.h"
#include "kernel/text/text-file.h"

#define FILE_BYTES 4096

/* "memory  4  15  1": name, hierarchy, cgroups, enabled. */
static bool is_in_version_1(Span line, Span *ret_name) {
        Cursor words = cursor_over(line);
        Span hierarchy;
        uint64_t number;

        return cursor_word(&words, ret_name) && cursor_word(&words, &hierarchy) &&
               number_parse_u64(hierarchy, &number) && number > 0;
}

void cgroup_v1_parse(Span text, char ret_names[static CGROUP_V1_TEXT_BYTES]) {
        static const char *const read[] = { "cpu", "cpuacct", "cpuset", "memory", "blkio", "pids" };
        bool found[ELEMENTSOF(read)] = {};
        Cursor lines = cursor_over(text);
        size_t n = 0;
        Span line, name;

        while (cursor_line(&lines, &line))
                for (size_t i = 0; i < ELEMENTSOF(read); i++)
                        if (is_in_version_1(line, &name) && span_is(name, read[i]))
                                found[i] = true;
        ret_names[0] = '\0';
        for (size_t i = 0; i < ELEMENTSOF(read); i++)
                if (found[i])
                        n += (size_t) snprintf(ret_names + n, CGROUP_V1_TEXT_BYTES - n, "%s%s",
                                               n > 0 ? ", " : "", read[i]);
}

void cgroup_v1_read(int proc_fd, char ret_names[static CGROUP_V1_TEXT_BYTES]) {
        char text[FILE_BYTES];
        size_t n;

        if (text_file_read(proc_fd, "cgroups", text, sizeof(text), &n) != 0)
                n = 0;
        cgroup_v1_parse((Span){ text, n }, ret_names);
}
