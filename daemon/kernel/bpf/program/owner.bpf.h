/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The owner of a task: the user who answers for it, whatever it does to the tables of programs. It
 * is the real uid, which takes a privilege to change. Whoever may create a user namespace gets
 * other uids within it, 65,536 as a rule; so a task below the initial user namespace belongs to
 * the user who created the outermost namespace it is in. Uids are those of the initial namespace.
 */

#include "kernel/bpf/kernel-type.bpf.h"

#include <bpf/bpf_core_read.h>

#define MAX_USER_LEVELS 34 /* more than the kernel nests (create_user_ns()) */

static __always_inline __u32 owner_of_cred(const struct cred *cred) {
        const struct user_namespace *space = cred->user_ns, *above = space->parent;

        if (!above)
                return cred->uid.val;
        for (int i = 0; i < MAX_USER_LEVELS; i++) {
                const struct user_namespace *next = above->parent;

                if (!next) /* that is the initial one */
                        break;
                space = above;
                above = next;
        }
        return space->owner.val;
}

/* Also of a task that has exited: it keeps its credentials until it is freed. */
static __always_inline __u32 read_owner(const struct task_struct *task) {
        return owner_of_cred(task->real_cred);
}
