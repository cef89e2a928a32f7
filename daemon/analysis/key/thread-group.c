/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/thread-group.h"

/* A thread that was renamed goes by its newest name. */
static int name_thread(Group *group, const ThreadKey *key, Side side, const ThreadSample *sample) {
        if (group->label && side == SIDE_BEFORE)
                return 0;
        group->pid = sample->tgid;
        group->tid = sample->tid;
        group->start_ticks = sample->start_ticks;
        group->n_process = key->n_process;
        return group_set_label(group, key->label);
}

int thread_group_obtain(ThreadKeys *keys, GroupTable *table, Side side, const ThreadSample *sample,
                        Group **ret) {
        ThreadKey key;
        Group *group;
        int r;

        r = thread_keys_make(keys, side, sample, &key);
        if (r == 0)
                r = group_table_obtain(table, key.id, &group);
        if (r != 0)
                return r;
        if (keys->axis == VIEW_AXIS_THREAD)
                r = name_thread(group, &key, side, sample);
        if (keys->axis == VIEW_AXIS_ALL) {
                group->n_cgroup = key.n_cgroup;
                group->n_process = key.n_process;
                if (key.label.n < key.id.n)
                        r = group_set_label(group, key.label);
        }
        if (r == 0 && thread_keys_has_patterns(keys)) {
                group->is_pattern = group->is_pattern || key.is_pattern;
                r = member_list_add(&group->members, key.name);
        }
        if (r == 0)
                *ret = group;
        return r;
}
