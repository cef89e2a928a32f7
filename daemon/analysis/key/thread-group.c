/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/thread-group.h"

#include <string.h>

#include "base/macro.h"
#include "base/name.h"

int thread_groups_census(ThreadGroups *groups, const ThreadSample *sample) {
        int r = 0;

        if (thread_is_left_out(groups->view, sample))
                return 0;
        for (unsigned i = 0; i < groups->keys.n_parts && r == 0; i++) {
                KeyPart *part = &groups->keys.parts[i];

                r = key_part_census(part, key_part_name(part, sample));
        }
        return r;
}

int thread_groups_census_cgroup(ThreadGroups *groups, Span path) {
        return groups->keys.cgroup ? key_part_census(groups->keys.cgroup, path) : 0;
}

static int obtain(ThreadGroups *groups, Side side, const ThreadSample *sample, ThreadKey *ret_key,
                  Group **ret) {
        ThreadKeys *keys = &groups->keys;
        Group *group;
        int r;

        r = thread_keys_make(keys, side, sample, ret_key);
        if (r == 0)
                r = group_table_obtain(&groups->table, ret_key->id, &group);
        if (r != 0)
                return r;
        if (keys->axis == VIEW_AXIS_THREAD) {
                /* A renamed thread is called by its newest name. */
                if (!group->label || side != SIDE_BEFORE) {
                        group->pid = sample->tgid;
                        group->tid = sample->tid;
                        group->start_ticks = sample->start_ticks;
                        group->n_process = ret_key->n_process;
                        r = group_set_label(group, ret_key->label);
                }
        } else if (keys->axis == VIEW_AXIS_ALL) {
                group->n_cgroup = ret_key->n_cgroup;
                group->n_process = ret_key->n_process;
                if (ret_key->label.n < ret_key->id.n)
                        r = group_set_label(group, ret_key->label);
        }
        group->has_program = group->has_program || !sample->has_kthread || !sample->kthread;
        if (keys->has_patterns)
                group->is_pattern = group->is_pattern || ret_key->is_pattern;
        *ret = group;
        return r;
}

int thread_groups_obtain(ThreadGroups *groups, Side side, const ThreadSample *sample, Group **ret) {
        ThreadKey key;
        int r;

        r = obtain(groups, side, sample, &key, ret);
        if (r == 0 && groups->keys.has_patterns)
                r = member_list_add(&(*ret)->members, key.name, 1);
        if (r == 0 && sample->command.n > 0)
                r = member_list_add(&(*ret)->commands, sample->command_name, 1);
        return r;
}

/* The keys of the living begin with a digit. */
static int obtain_ended(ThreadGroups *groups, const ThreadSample *sample, Group **ret) {
        const Span names[] = { sample->cgroup, sample->pcomm, sample->comm };
        _cleanup_(buffer_done) Buffer id = { .bytes = NULL };
        size_t n_label;
        Group *group;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                buffer_append_byte(&id, KEY_JOINT);
                buffer_append(&id, names[i].bytes, names[i].n);
        }
        n_label = id.n;
        r = buffer_append_format(&id, "%c%zu,%zu", '\0', names[0].n, names[1].n);
        if (r == 0)
                r = group_table_obtain(&groups->table, buffer_span(&id), &group);
        if (r != 0)
                return r;
        group->has_program = group->has_program || !sample->has_kthread || !sample->kthread;
        group->is_ended = true;
        group->n_cgroup = names[0].n;
        group->n_process = names[1].n;
        *ret = group;
        return group_set_label(group, (Span){ id.bytes + 1, n_label - 1 });
}

#define TASK_NAME_CHARS 15u

static bool starts_with(Span name, Span prefix) {
        return name.n >= prefix.n && memcmp(name.bytes, prefix.bytes, prefix.n) == 0;
}

/*
 * Calls a thread of the kernel as it is called when it ends. While it lives, /proc tells names that
 * are longer than a task has room for, and of a worker also what it does or did last: "-events",
 * "+events" (kernel/workqueue.c, wq_worker_comm()). A rescuer has a hyphen of its own.
 */
static Span name_at_end(Span name) {
        const Span worker = SPAN_LITERAL("kworker/"), rescuer = SPAN_LITERAL("kworker/R-");

        if (starts_with(name, SPAN_LITERAL("[ended"))) /* many that have lost theirs */
                return name;
        if (starts_with(name, worker) && !starts_with(name, rescuer))
                for (size_t i = worker.n; i < name.n; i++)
                        if (name.bytes[i] == '-' || name.bytes[i] == '+')
                                name.n = i;
        name.n = MIN_OF(name.n, TASK_NAME_CHARS);
        return name;
}

int thread_groups_obtain_exited(ThreadGroups *groups, const ThreadSample *sample, uint64_t n,
                                Group **ret) {
        ThreadSample renamed;
        ThreadKey key;
        int r;

        if (groups->keys.axis == VIEW_AXIS_THREAD)
                return obtain_ended(groups, sample, ret);
        renamed = *sample;
        if (sample->has_kthread && sample->kthread) {
                renamed.comm = name_at_end(sample->comm);
                renamed.pcomm = name_at_end(sample->pcomm);
        }
        renamed.command_name = renamed.pcomm;
        r = obtain(groups, SIDE_AFTER, &renamed, &key, ret);
        if (r == 0 && groups->keys.has_patterns)
                r = member_list_add_ended(&(*ret)->members, key.name, n);
        return r;
}

int thread_groups_note_unplaced(ThreadGroups *groups, const ThreadSample *vanished, Group *group) {
        ThreadSample unplaced = *vanished;

        if (group->unplaced || vanished->cgroup.n == 0 ||
            (groups->keys.axis != VIEW_AXIS_CGROUP && groups->keys.axis != VIEW_AXIS_ALL &&
             groups->keys.axis != VIEW_AXIS_THREAD))
                return 0;
        unplaced.cgroup = (Span){ NULL, 0 };
        return thread_groups_obtain_exited(groups, &unplaced, 0, &group->unplaced);
}

bool group_is_placed(const Group *group, ViewAxis axis) {
        return group_names(group, axis).cgroup.n > 0;
}

/* names of groups */

/* The lengths of the names are stored because the names themselves may contain the joint. */
static GroupNames all_names(const Group *group) {
        Span key = group_key(group);
        const char *process = key.bytes + group->n_cgroup + 1;
        const char *thread = process + group->n_process + 1;

        return (GroupNames){ .cgroup = { key.bytes, group->n_cgroup },
                             .process = { process, group->n_process },
                             .thread = { thread, key.n - (size_t) (thread - key.bytes) } };
}

GroupNames group_names(const Group *group, ViewAxis axis) {
        size_t n_process = group->n_process;
        Span key = group_key(group);

        if (group->is_ended)
                return all_names(group);
        switch (axis) {
        case VIEW_AXIS_PCOMM:
                return (GroupNames){ .process = key };
        case VIEW_AXIS_COMM:
        case VIEW_AXIS_COMM_EXACT:
                return (GroupNames){ .thread = key };
        case VIEW_AXIS_COMMAND:
                return (GroupNames){ .command = key };
        case VIEW_AXIS_CGROUP:
                return (GroupNames){ .cgroup = key };
        case VIEW_AXIS_ALL:
                return all_names(group);
        case VIEW_AXIS_THREAD:
                /* In the key of a single thread, skip pid, tid and start, which are digits. */
                for (unsigned i = 0; i < 3; i++) {
                        const char *joint = memchr(key.bytes, KEY_JOINT, key.n);

                        if (!joint)
                                return (GroupNames){ .cgroup = { NULL, 0 } };
                        key = (Span){ joint + 1, key.n - (size_t) (joint + 1 - key.bytes) };
                }
                return (GroupNames){ .process = { key.bytes, n_process },
                                     .thread = { key.bytes + n_process + 1,
                                                 key.n - n_process - 1 } };
        case _VIEW_AXIS_MAX:
                break;
        }
        return (GroupNames){ .cgroup = { NULL, 0 } };
}

bool group_passes(const Group *group, const View *view) {
        GroupNames names = group_names(group, view->axis);
        const Span parts[] = { names.cgroup, names.process, names.thread };

        if (view_filter_matches(view, group_key(group)))
                return true;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                if (parts[i].bytes && view_filter_matches(view, parts[i]))
                        return true;
        return false;
}

void group_write_names(JsonWriter *writer, const Group *group, ViewAxis axis) {
        static const char *const members[] = { "cgroup", "process", "thread", "command" };
        GroupNames names = group_names(group, axis);
        const Span parts[] = { names.cgroup, names.process, names.thread, names.command };
        _cleanup_(buffer_done) Buffer text = { .bytes = NULL };
        Span key = group_key(group);
        bool joint = false;

        /* The pid, tid and start of a thread have the joint behind each. */
        if (axis == VIEW_AXIS_THREAD && !group->is_ended)
                buffer_append(&text, key.bytes,
                              names.process.bytes ? (size_t) (names.process.bytes - key.bytes)
                                                  : key.n);
        /* Names may contain the joint: they are escaped so that only joints are left. */
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                if (!parts[i].bytes)
                        continue;
                if (joint)
                        buffer_append_byte(&text, KEY_JOINT);
                joint = true;
                if (name_escape_controls(&text, parts[i]) != 0)
                        break;
        }
        if (writer->error == 0)
                writer->error = buffer_failure(&text);
        json_write_key(writer, "key");
        json_write_span(writer, buffer_span(&text));
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                /* A cgroup of "" means that the one of these threads is not known. */
                if (i == 0 ? parts[i].n > 0 : parts[i].bytes != NULL)
                        json_write_member_name(writer, members[i], parts[i]);
        if (group->is_ended) {
                json_write_member_bool(writer, "ended", true);
        } else if (axis == VIEW_AXIS_THREAD) {
                json_write_member_i64(writer, "pid", group->pid);
                json_write_member_i64(writer, "tid", group->tid);
                json_write_member_u64(writer, "startTicks", group->start_ticks);
        }
}

void group_write_key(JsonWriter *writer, const Group *group, ViewAxis axis) {
        group_write_names(writer, group, axis);
        if (group->is_pattern)
                member_list_write_json(writer, "members", &group->members);
        if (group->commands.n_members > 0)
                member_list_write_json(writer, "commands", &group->commands);
}
