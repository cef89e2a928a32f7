/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/key-part.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/name-set.h"
#include "analysis/key/pattern.h"
#include "view/glob.h"

/* cgroups */

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

/* census */

struct KeyCensus {
        NameSet skeletons;
        NameSet names;  /* the first one of each skeleton */
        size_t *firsts; /* by skeleton: the number of its first name, or SHARED */
        size_t n_allocated;
};

#define SHARED SIZE_MAX /* the skeleton has a second name */

int key_census_new(KeyCensus **ret) {
        KeyCensus *census = calloc(1, sizeof(*census));

        if (!census)
                return -ENOMEM;
        *ret = census;
        return 0;
}

KeyCensus *key_census_free(KeyCensus *census) {
        if (!census)
                return NULL;
        name_set_done(&census->skeletons);
        name_set_done(&census->names);
        free(census->firsts);
        free(census);
        return NULL;
}

int key_census_add(KeyCensus *census, Span skeleton, Span name) {
        size_t n_before = census->skeletons.n, number, first;
        int r;

        r = ARRAY_RESERVE(census->firsts, census->n_allocated, n_before + 1);
        if (r != 0)
                return r;
        r = name_set_add(&census->skeletons, skeleton, &number);
        if (r != 0)
                return r;
        if (number == n_before) {
                census->firsts[number] = SHARED;
                return name_set_add(&census->names, name, &census->firsts[number]);
        }
        first = census->firsts[number];
        if (first != SHARED && !span_equal(name_set_get(&census->names, first), name))
                census->firsts[number] = SHARED;
        return 0;
}

bool key_census_is_shared(const KeyCensus *census, Span skeleton) {
        size_t number = name_set_find(&census->skeletons, skeleton);

        return number != INDEX_NONE && census->firsts[number] == SHARED;
}

bool key_census_find(const KeyCensus *census, Span skeleton, Span *ret) {
        size_t number = name_set_find(&census->skeletons, skeleton);

        if (number == INDEX_NONE)
                return false;
        *ret = census->firsts[number] == SHARED
                       ? skeleton
                       : name_set_get(&census->names, census->firsts[number]);
        return true;
}

int key_part_init(KeyPart *part, KeyPartName of, const View *view, bool patterns) {
        *part = (KeyPart){ .of = of };
        if (of == KEY_PART_CGROUP && view->cgroup_flatten.n > 0)
                part->flatten = &view->cgroup_flatten;
        return patterns ? key_census_new(&part->census) : 0;
}

void key_part_done(KeyPart *part) {
        part->census = key_census_free(part->census);
        buffer_done(&part->name);
        buffer_done(&part->skeleton);
        part->has_name = false;
}

Span key_part_name(const KeyPart *part, const ThreadSample *sample) {
        switch (part->of) {
        case KEY_PART_CGROUP:
                return sample->cgroup;
        case KEY_PART_PROCESS:
                return sample->pcomm;
        case KEY_PART_COMMAND:
                return sample->command_name;
        case KEY_PART_THREAD:
                break;
        }
        return sample->comm;
}

static bool is_last(const KeyPart *part, Span name) {
        return part->has_name && span_equal(buffer_span(&part->name), name);
}

/* Finds the glob or skeleton of @name unless it is the cached one. */
static int set_name(KeyPart *part, Span name) {
        int r;

        if (is_last(part, name))
                return 0;
        part->has_name = false;
        buffer_clear(&part->name);
        buffer_clear(&part->skeleton);
        buffer_append(&part->name, name.bytes, name.n);
        part->is_flat = part->flatten && cgroup_flatten(part->flatten, name, &part->flat);
        if (part->census && !part->is_flat && part->of == KEY_PART_CGROUP)
                cgroup_append_skeleton(&part->skeleton, name);
        else if (part->census && !part->is_flat)
                pattern_append_skeleton(&part->skeleton, name);
        r = buffer_failure(&part->name);
        if (r == 0)
                r = buffer_failure(&part->skeleton);
        part->has_name = r == 0;
        return r;
}

int key_part_census(KeyPart *part, Span name) {
        int r;

        if (!part->census || is_last(part, name))
                return 0;
        r = set_name(part, name);
        if (r != 0 || part->is_flat)
                return r;
        return key_census_add(part->census, buffer_span(&part->skeleton), name);
}

int key_part_make(KeyPart *part, Span name, Span *ret) {
        int r;

        if (!part->census && !part->flatten) {
                *ret = name;
                return 0;
        }
        r = set_name(part, name);
        if (r != 0)
                return r;
        if (part->is_flat)
                *ret = part->flat;
        else if (part->census && key_census_is_shared(part->census, buffer_span(&part->skeleton)))
                *ret = buffer_span(&part->skeleton);
        else
                *ret = name;
        return 0;
}

int key_part_resolve(KeyPart *part, Span text, Span *ret) {
        if (part->census && key_census_find(part->census, text, ret))
                return 0;
        return key_part_make(part, text, ret);
}
