/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/cgroupfs/cgroupfs.h"

#include <string.h>

#include "kernel/text/cursor.h"

/* Undoes the octal escapes of mountinfo ("\040"; fs/proc_namespace.c, mangle()). */
static bool decode_path(Span text, char ret[static CGROUPFS_PATH_BYTES]) {
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++) {
                const char *at = text.bytes + i;
                char c = *at;

                if (c == '\\' && text.n - i > 3 && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' &&
                    at[2] <= '7' && at[3] >= '0' && at[3] <= '7') {
                        c = (char) ((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
                        i += 3;
                }
                if (c == '\0' || n == CGROUPFS_PATH_BYTES - 1)
                        return false;
                ret[n++] = c;
        }
        ret[n] = '\0';
        return n > 0 && ret[0] == '/';
}

/*
 * "36 35 98:0 /root /point options [optional fields] - type source options" (proc(5)): the path
 * fields of a line for a cgroup v2 mount.
 */
static bool parse_line(Span line, Span *ret_root, Span *ret_point) {
        Cursor words = cursor_over(line);
        Span word;

        for (unsigned field = 1; field <= 6; field++) {
                if (!cursor_word(&words, &word))
                        return false;
                if (field == 4)
                        *ret_root = word;
                else if (field == 5)
                        *ret_point = word;
        }
        do
                if (!cursor_word(&words, &word))
                        return false;
        while (!span_is(word, "-"));
        return cursor_word(&words, &word) && span_is(word, "cgroup2");
}

/* Such a mount shows cgroups above the reader's cgroup namespace, which no path of it names. */
static bool is_above(const char *root) {
        return strncmp(root, "/..", 3) == 0 && (root[3] == '/' || root[3] == '\0');
}

int cgroup_mount_parse(Span mountinfo, size_t nth, CgroupMount *ret) {
        for (unsigned pass = 0; pass < 2; pass++) {
                Cursor lines = cursor_over(mountinfo);
                Span line, root, point;

                while (cursor_line(&lines, &line)) {
                        if (!parse_line(line, &root, &point) || !decode_path(root, ret->root) ||
                            !decode_path(point, ret->point) || is_above(ret->root) ||
                            (strcmp(ret->root, "/") == 0) != (pass == 0))
                                continue;
                        if (nth == 0)
                                return 0;
                        nth--;
                }
        }
        return CGROUPFS_E_NO_MOUNT;
}
