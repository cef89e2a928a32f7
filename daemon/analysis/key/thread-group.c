/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/thread-group.h"

int thread_groups_init(ThreadGroups *groups, const View *view, Boots boots) {
        *groups = (ThreadGroups){ .view = view };
        return thread_keys_init(&groups->keys, view, boots);
}

void thread_groups_done(ThreadGroups *groups) {
        group_table_done(&groups->table);
        thread_keys_done(&groups->keys);
}

bool thread_groups_want_census(const ThreadGroups *groups) {
        return thread_keys_wants_census(&groups->keys);
}

int thread_groups_census(ThreadGroups *groups, const ThreadSample *sample) {
        if (thread_is_left_out(groups->view, sample))
                return 0;
        return thread_keys_census(&groups->keys, sample);
}

/* A renamed thread is called by its newest name. */
static int name_thread(Group *group, const ThreadKey *key, Side side, const ThreadSample *sample) {
        if (group->label && side == SIDE_BEFORE)
                return 0;
        group->pid = sample->tgid;
        group->tid = sample->tid;
        group->start_ticks = sample->start_ticks;
        group->n_process = key->n_process;
        return group_set_label(group, key->label);
}

static int name_parts(Group *group, const ThreadKey *key) {
        group->n_cgroup = key->n_cgroup;
        group->n_process = key->n_process;
        return key->label.n < key->id.n ? group_set_label(group, key->label) : 0;
}

int thread_groups_obtain(ThreadGroups *groups, Side side, const ThreadSample *sample, Group **ret) {
        ThreadKeys *keys = &groups->keys;
        ThreadKey key;
        Group *group;
        int r;

        r = thread_keys_make(keys, side, sample, &key);
        if (r == 0)
                r = group_table_obtain(&groups->table, key.id, &group);
        if (r != 0)
                return r;
        if (keys->axis == VIEW_AXIS_THREAD)
                r = name_thread(group, &key, side, sample);
        else if (keys->axis == VIEW_AXIS_ALL)
                r = name_parts(group, &key);
        if (r == 0 && thread_keys_has_patterns(keys)) {
                group->is_pattern = group->is_pattern || key.is_pattern;
                r = member_list_add(&group->members, key.name);
        }
        *ret = group;
        return r;
}
