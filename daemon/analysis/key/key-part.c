/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/key-part.h"

#include "analysis/key/cgroup-key.h"
#include "analysis/key/pattern.h"

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

int key_part_census(KeyPart *part, const ThreadSample *sample) {
        Span name = key_part_name(part, sample);
        int r;

        if (!part->census || is_last(part, name))
                return 0;
        r = set_name(part, name);
        if (r != 0 || part->is_flat)
                return r;
        return key_census_add(part->census, buffer_span(&part->skeleton), name);
}

int key_part_make(KeyPart *part, const ThreadSample *sample, Span *ret) {
        Span name = key_part_name(part, sample);
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
