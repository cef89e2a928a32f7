/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-cgroup.h"

#include "kernel/text/cursor.h"

static const Span v2_prefix = SPAN_LITERAL("0::");

static bool ends_with(Span text, Span suffix) {
        return text.n >= suffix.n &&
               memcmp(text.bytes + text.n - suffix.n, suffix.bytes, suffix.n) == 0;
}

static bool has_parent_component(Span path) {
        size_t start = 0;

        for (size_t i = 0; i <= path.n; i++) {
                if (i < path.n && path.bytes[i] != '/')
                        continue;
                if (span_is((Span){ path.bytes + start, i - start }, ".."))
                        return true;
                start = i + 1;
        }
        return false;
}

int proc_cgroup_parse(Span text, ProcCgroup *ret) {
        Cursor cursor = cursor_over(text);
        ProcCgroup cgroup = {};
        unsigned n_paths = 0;
        Span line;

        *ret = cgroup;
        while (cursor_line(&cursor, &line)) {
                if (line.n < v2_prefix.n || memcmp(line.bytes, v2_prefix.bytes, v2_prefix.n) != 0)
                        continue;
                cgroup.path = (Span){ line.bytes + v2_prefix.n, line.n - v2_prefix.n };
                n_paths++;
        }
        if (!cursor_is_at_end(&cursor) || n_paths > 1)
                return PROCFS_E_MALFORMED;
        if (n_paths == 0)
                return 0;
        if (cgroup.path.n == 0 || cgroup.path.bytes[0] != '/' ||
            cgroup.path.n >= PROC_CGROUP_CUT_BYTES)
                return PROCFS_E_MALFORMED;

        cgroup.has_path = true;
        cgroup.deleted = ends_with(cgroup.path, SPAN_LITERAL(PROC_CGROUP_DELETED_SUFFIX));
        cgroup.outside = has_parent_component(cgroup.path);
        *ret = cgroup;
        return 0;
}
