/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/thread-key.h"

#include "compare/pattern.h"

int thread_keys_init(ThreadKeys *keys, const View *view, ComparisonBoots boots) {
        bool patterns = view->thread_normalize &&
                        (view->axis == VIEW_AXIS_PCOMM || view->axis == VIEW_AXIS_COMM);

        *keys = (ThreadKeys){ .axis = view->axis, .boots = boots };
        return patterns ? key_census_new(&keys->census) : 0;
}

void thread_keys_done(ThreadKeys *keys) {
        keys->census = key_census_free(keys->census);
        buffer_done(&keys->name);
        buffer_done(&keys->skeleton);
        buffer_done(&keys->text);
        keys->has_name = false;
}

static Span name_of(const ThreadKeys *keys, const ThreadSample *sample) {
        return keys->axis == VIEW_AXIS_PCOMM ? sample->pcomm : sample->comm;
}

/* Brings the skeleton of @name into the buffer of that name. */
static int set_skeleton(ThreadKeys *keys, Span name) {
        int r;

        if (keys->has_name && span_equal(buffer_span(&keys->name), name))
                return 0;
        keys->has_name = false;
        buffer_clear(&keys->name);
        buffer_clear(&keys->skeleton);
        r = buffer_append(&keys->name, name.bytes, name.n);
        if (r != 0)
                return r;
        r = pattern_append_skeleton(&keys->skeleton, name);
        if (r != 0)
                return r;
        keys->has_name = true;
        return 0;
}

int thread_keys_census(ThreadKeys *keys, const ThreadSample *sample) {
        Span name = name_of(keys, sample);
        int r;

        if (keys->has_name && span_equal(buffer_span(&keys->name), name))
                return 0; /* counted already */
        r = set_skeleton(keys, name);
        if (r != 0)
                return r;
        return key_census_add(keys->census, buffer_span(&keys->skeleton), name);
}

/* pid, tid, start, process, thread; the first three are the life, the names may change in it. */
static int format_thread(ThreadKeys *keys, const ThreadSample *sample, size_t *ret_n_life) {
        const uint64_t numbers[] = { (uint64_t) sample->tgid, (uint64_t) sample->tid,
                                     sample->start_ticks };
        const Span names[] = { sample->pcomm, sample->comm };
        int r;

        buffer_clear(&keys->text);
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                r = i > 0 ? buffer_append_byte(&keys->text, KEY_JOINT) : 0;
                if (r == 0)
                        r = buffer_append_u64(&keys->text, numbers[i]);
                if (r != 0)
                        return r;
        }
        *ret_n_life = keys->text.n;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                r = buffer_append_byte(&keys->text, KEY_JOINT);
                if (r == 0)
                        r = buffer_append(&keys->text, names[i].bytes, names[i].n);
                if (r != 0)
                        return r;
        }
        return 0;
}

/*
 * Within one boot a life is a thread whatever it calls itself. Across two boots no thread lives on,
 * so the side is part of the id. Where the boots are not known, equal names make a coincidence
 * unlikely.
 */
static int make_thread_key(ThreadKeys *keys, ComparisonSide side, const ThreadSample *sample,
                           ThreadKey *ret) {
        size_t n_life, n_label;
        int r;

        r = format_thread(keys, sample, &n_life);
        if (r != 0)
                return r;
        n_label = keys->text.n;
        r = buffer_append_byte(&keys->text, (char) ('0' + side));
        if (r != 0)
                return r;

        *ret = (ThreadKey){ .label = { keys->text.bytes, n_label }, .n_process = sample->pcomm.n };
        switch (keys->boots) {
        case COMPARISON_BOOTS_UNKNOWN:
                ret->id = ret->label;
                break;
        case COMPARISON_BOOTS_SAME:
                ret->id = (Span){ keys->text.bytes, n_life };
                break;
        case COMPARISON_BOOTS_DIFFERENT:
                ret->id = buffer_span(&keys->text);
                break;
        }
        return 0;
}

int thread_keys_make(ThreadKeys *keys, ComparisonSide side, const ThreadSample *sample,
                     ThreadKey *ret) {
        Span name = name_of(keys, sample);
        int r;

        switch (keys->axis) {
        case VIEW_AXIS_PCOMM:
        case VIEW_AXIS_COMM:
        case VIEW_AXIS_COMM_EXACT:
                break;
        case VIEW_AXIS_CGROUP:
                name = sample->cgroup;
                break;
        case VIEW_AXIS_THREAD:
                return make_thread_key(keys, side, sample, ret);
        case _VIEW_AXIS_MAX:
                return -EINVAL;
        }

        *ret = (ThreadKey){ .id = name, .label = name, .name = name };
        if (!keys->census)
                return 0;
        r = set_skeleton(keys, name);
        if (r != 0)
                return r;
        if (key_census_is_shared(keys->census, buffer_span(&keys->skeleton))) {
                ret->id = ret->label = buffer_span(&keys->skeleton);
                ret->is_pattern = true;
        }
        return 0;
}
