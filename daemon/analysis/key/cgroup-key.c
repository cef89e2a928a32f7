/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/cgroup-key.h"

#include <string.h>

#include "analysis/key/pattern.h"
#include "view/glob.h"

#define SERVICE_SUFFIX ".service"

bool cgroup_flatten(const ViewTexts *globs, Span path, Span *ret) {
        for (unsigned i = 0; i < globs->n; i++) {
                Span glob = view_texts_get(globs, i);

                if (!glob_matches_path(glob, path))
                        continue;
                *ret = glob;
                return true;
        }
        return false;
}

/* Finds the text between the first '@' and ".service" if it is to be replaced. */
static bool find_instance(Span component, Span *ret) {
        const Span suffix = SPAN_LITERAL(SERVICE_SUFFIX);
        const char *at, *end;

        if (component.n < suffix.n)
                return false;
        end = component.bytes + component.n - suffix.n;
        at = memchr(component.bytes, '@', (size_t) (end - component.bytes));
        if (!at || at + 1 == end || !span_equal((Span){ end, suffix.n }, suffix))
                return false;
        for (const char *byte = at + 1; byte < end; byte++)
                if (*byte == '.' || *byte == '_' || *byte == '-')
                        return false;
        *ret = (Span){ at + 1, (size_t) (end - at - 1) };
        return true;
}

static void append_component(Buffer *buffer, Span component) {
        Span instance;

        if (find_instance(component, &instance)) {
                component.n = (size_t) (instance.bytes - component.bytes);
                pattern_append_skeleton(buffer, component);
                buffer_append_text(buffer, "{I}" SERVICE_SUFFIX);
        } else {
                pattern_append_skeleton(buffer, component);
        }
}

int cgroup_append_skeleton(Buffer *buffer, Span path) {
        for (size_t at = 0, end; at < path.n; at = end + 1) {
                const char *slash = memchr(path.bytes + at, '/', path.n - at);

                end = slash ? (size_t) (slash - path.bytes) : path.n;
                append_component(buffer, (Span){ path.bytes + at, end - at });
                if (slash)
                        buffer_append_byte(buffer, '/');
        }
        return buffer_failure(buffer);
}
