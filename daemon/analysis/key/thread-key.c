/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/thread-key.h"

/* The names that the key of an axis is made of. */
static unsigned parts_of(ViewAxis axis, KeyPartName ret_names[static THREAD_KEY_MAX_PARTS]) {
        ret_names[0] = KEY_PART_CGROUP;
        ret_names[1] = KEY_PART_PROCESS;
        ret_names[2] = KEY_PART_THREAD;
        switch (axis) {
        case VIEW_AXIS_PCOMM:
                ret_names[0] = KEY_PART_PROCESS;
                return 1;
        case VIEW_AXIS_COMM:
        case VIEW_AXIS_COMM_EXACT:
                ret_names[0] = KEY_PART_THREAD;
                return 1;
        case VIEW_AXIS_COMMAND:
                ret_names[0] = KEY_PART_COMMAND;
                return 1;
        case VIEW_AXIS_CGROUP:
                return 1;
        case VIEW_AXIS_ALL:
                return 3;
        case VIEW_AXIS_THREAD:
        case _VIEW_AXIS_MAX:
                break;
        }
        return 0;
}

int thread_keys_init(ThreadKeys *keys, const View *view, Boots boots) {
        KeyPartName names[THREAD_KEY_MAX_PARTS];
        unsigned n_parts = parts_of(view->axis, names);
        int r;

        *keys = (ThreadKeys){ .axis = view->axis, .boots = boots };
        while (keys->n_parts < n_parts) {
                KeyPartName name = names[keys->n_parts];
                bool patterns =
                        name == KEY_PART_CGROUP
                                ? view->cgroup_normalize
                                : view->thread_normalize && view->axis != VIEW_AXIS_COMM_EXACT;

                r = key_part_init(&keys->parts[keys->n_parts], name, view, patterns);
                if (r != 0)
                        return r;
                keys->n_parts++;
        }
        return 0;
}

void thread_keys_done(ThreadKeys *keys) {
        for (unsigned i = 0; i < keys->n_parts; i++)
                key_part_done(&keys->parts[i]);
        keys->n_parts = 0;
        buffer_done(&keys->text);
}

bool thread_keys_wants_census(const ThreadKeys *keys) {
        for (unsigned i = 0; i < keys->n_parts; i++)
                if (keys->parts[i].census)
                        return true;
        return false;
}

bool thread_keys_has_patterns(const ThreadKeys *keys) {
        for (unsigned i = 0; i < keys->n_parts; i++)
                if (keys->parts[i].census || keys->parts[i].flatten)
                        return true;
        return false;
}

int thread_keys_census(ThreadKeys *keys, const ThreadSample *sample) {
        for (unsigned i = 0; i < keys->n_parts; i++) {
                KeyPart *part = &keys->parts[i];
                int r = key_part_census(part, key_part_name(part, sample));

                if (r != 0)
                        return r;
        }
        return 0;
}

KeyPart *thread_keys_cgroup_part(ThreadKeys *keys) {
        if (keys->n_parts == 0 || keys->parts[0].of != KEY_PART_CGROUP)
                return NULL;
        return &keys->parts[0];
}

/*
 * Formats pid, tid, start, process and thread. The first three identify the thread; its names may
 * change.
 */
static size_t format_thread(ThreadKeys *keys, const ThreadSample *sample) {
        const uint64_t numbers[] = { (uint64_t) sample->tgid, (uint64_t) sample->tid,
                                     sample->start_ticks };
        const Span names[] = { sample->pcomm, sample->comm };
        size_t n_life;

        buffer_clear(&keys->text);
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                if (i > 0)
                        buffer_append_byte(&keys->text, KEY_JOINT);
                buffer_append_u64(&keys->text, numbers[i]);
        }
        n_life = keys->text.n;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                buffer_append_byte(&keys->text, KEY_JOINT);
                buffer_append(&keys->text, names[i].bytes, names[i].n);
        }
        return n_life;
}

/*
 * Within one boot, pid, tid and start identify a thread even if it renames itself. No thread
 * survives a reboot, so across two boots the side is part of the id. If the boots are not known,
 * the names are part of the id too, which makes a coincidence unlikely.
 */
static int make_thread_key(ThreadKeys *keys, Side side, const ThreadSample *sample,
                           ThreadKey *ret) {
        size_t n_life, n_label;
        int r;

        n_life = format_thread(keys, sample);
        n_label = keys->text.n;
        r = buffer_append_byte(&keys->text, (char) ('0' + side));
        if (r != 0)
                return r;

        *ret = (ThreadKey){ .label = { keys->text.bytes, n_label }, .n_process = sample->pcomm.n };
        switch (keys->boots) {
        case BOOTS_UNKNOWN:
                ret->id = ret->label;
                break;
        case BOOTS_SAME:
                ret->id = (Span){ keys->text.bytes, n_life };
                break;
        case BOOTS_DIFFERENT:
                ret->id = buffer_span(&keys->text);
                break;
        }
        return 0;
}

int thread_key_append_lengths(Buffer *label, size_t n_cgroup, size_t n_process) {
        size_t n_joints = 0;

        for (size_t i = 0; i < label->n; i++)
                n_joints += label->bytes[i] == KEY_JOINT;
        if (n_joints == THREAD_KEY_MAX_PARTS - 1)
                return buffer_failure(label);
        return buffer_append_format(label, "%c%zu,%zu", '\0', n_cgroup, n_process);
}

/* Joins several parts. Groups differ most in the last one. */
static int join_parts(ThreadKeys *keys, const ThreadSample *sample, ThreadKey *ret) {
        Span parts[THREAD_KEY_MAX_PARTS] = { { NULL, 0 } };
        size_t n_label;
        int r;

        buffer_clear(&keys->text);
        for (unsigned i = 0; i < keys->n_parts; i++) {
                r = key_part_make(&keys->parts[i], key_part_name(&keys->parts[i], sample),
                                  &parts[i]);
                if (r != 0)
                        return r;
                if (i > 0)
                        buffer_append_byte(&keys->text, KEY_JOINT);
                buffer_append(&keys->text, parts[i].bytes, parts[i].n);
        }
        n_label = keys->text.n;
        r = thread_key_append_lengths(&keys->text, parts[0].n, parts[1].n);
        if (r != 0)
                return r;
        *ret = (ThreadKey){ .id = buffer_span(&keys->text),
                            .label = { keys->text.bytes, n_label } };
        ret->name = key_part_name(&keys->parts[keys->n_parts - 1], sample);
        ret->is_pattern = !span_equal(parts[keys->n_parts - 1], ret->name);
        ret->n_cgroup = parts[0].n;
        ret->n_process = parts[1].n;
        return 0;
}

int thread_keys_make(ThreadKeys *keys, Side side, const ThreadSample *sample, ThreadKey *ret) {
        Span name, key;
        int r;

        if (keys->n_parts == 0)
                return make_thread_key(keys, side, sample, ret);
        if (keys->n_parts > 1)
                return join_parts(keys, sample, ret);
        name = key_part_name(&keys->parts[0], sample);
        r = key_part_make(&keys->parts[0], name, &key);
        if (r != 0)
                return r;
        *ret = (ThreadKey){ .id = key, .label = key, .name = name };
        ret->is_pattern = !span_equal(key, name);
        return 0;
}
