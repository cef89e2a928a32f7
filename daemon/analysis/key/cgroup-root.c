/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/cgroup-root.h"

#include <string.h>

/* The length of the last component of @path including its slash; 0 when there is none. */
static size_t tail_of(Span path) {
        for (size_t n = 1; n <= path.n; n++)
                if (path.bytes[path.n - n] == '/')
                        return n;
        return 0;
}

void cgroup_roots(Span before, Span after, Span *ret_before, Span *ret_after) {
        *ret_before = before;
        *ret_after = after;
        for (;;) {
                size_t n = tail_of(before);

                if (n == 0 || n != tail_of(after) ||
                    memcmp(before.bytes + before.n - n, after.bytes + after.n - n, n) != 0)
                        break;
                before.n -= n;
                after.n -= n;
        }
        if (before.n == 0 || after.n == 0)
                return;
        *ret_before = before;
        *ret_after = after;
}

bool cgroup_is_below(Span path, Span root, Span *ret_rest) {
        if (path.n < root.n || memcmp(path.bytes, root.bytes, root.n) != 0 ||
            (path.n > root.n && path.bytes[root.n] != '/'))
                return false;
        *ret_rest = (Span){ path.bytes + root.n, path.n - root.n };
        return true;
}

int cgroup_append_moved(Buffer *name, Span root, Span rest) {
        buffer_append(name, root.bytes, root.n);
        return buffer_append(name, rest.bytes, rest.n);
}
