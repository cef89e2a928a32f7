/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/thread-key.h"

#include <errno.h>

int thread_keys_init(ThreadKeys *keys, const View *view, ComparisonBoots boots) {
        *keys = (ThreadKeys){ .axis = view->axis, .boots = boots };
        switch (view->axis) {
        case VIEW_AXIS_PCOMM:
                return key_part_init(&keys->part, KEY_PART_PROCESS, view, view->thread_normalize);
        case VIEW_AXIS_COMM:
                return key_part_init(&keys->part, KEY_PART_THREAD, view, view->thread_normalize);
        case VIEW_AXIS_COMM_EXACT:
                return key_part_init(&keys->part, KEY_PART_THREAD, view, false);
        case VIEW_AXIS_CGROUP:
                return key_part_init(&keys->part, KEY_PART_CGROUP, view, view->cgroup_normalize);
        case VIEW_AXIS_THREAD:
                return 0;
        case _VIEW_AXIS_MAX:
                break;
        }
        return -EINVAL;
}

void thread_keys_done(ThreadKeys *keys) {
        key_part_done(&keys->part);
        buffer_done(&keys->text);
}

int thread_keys_census(ThreadKeys *keys, const ThreadSample *sample) {
        return key_part_census(&keys->part, sample);
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
        Span name, key;
        int r;

        if (keys->axis == VIEW_AXIS_THREAD)
                return make_thread_key(keys, side, sample, ret);
        name = key_part_name(&keys->part, sample);
        r = key_part_make(&keys->part, sample, &key);
        if (r != 0)
                return r;
        *ret = (ThreadKey){ .id = key, .label = key, .name = name };
        ret->is_pattern = !span_equal(key, name);
        return 0;
}
