/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/process-names.h"

#include <stdio.h>
#include <string.h>

#include "kernel/procfs/procfs.h"

void process_names_init(ProcessNames *names, int proc_fd) {
        *names = (ProcessNames){ .proc_fd = proc_fd };
}

static size_t place_of(pid_t tgid) {
        return (uint32_t) tgid & (PROCESS_NAMES_MAX - 1);
}

void process_names_learn(ProcessNames *names, pid_t tgid, const char name[static TASK_COMM_BYTES],
                         uint64_t now_ns) {
        ProcessName *place = &names->names[place_of(tgid)];

        place->tgid = tgid;
        place->learned_ns = now_ns;
        memcpy(place->name, name, sizeof(place->name));
}

bool process_names_recall(const ProcessNames *names, pid_t tgid, uint64_t now_ns,
                          char ret[static TASK_COMM_BYTES]) {
        const ProcessName *place = &names->names[place_of(tgid)];

        if (tgid <= 0 || place->tgid != tgid || now_ns - place->learned_ns > PROCESS_NAMES_AGE_NS)
                return false;
        memcpy(ret, place->name, sizeof(place->name));
        return true;
}

bool process_names_find(ProcessNames *names, pid_t tgid, uint64_t now_ns,
                        char ret[static TASK_COMM_BYTES]) {
        char path[32], text[128], name[TASK_COMM_BYTES] = "";
        size_t n;

        if (process_names_recall(names, tgid, now_ns, ret))
                return true;
        if (tgid <= 0 || names->proc_fd < 0)
                return false;
        (void) snprintf(path, sizeof(path), "%d/comm", (int) tgid);
        if (procfs_read(names->proc_fd, path, text, sizeof(text), &n) != 0 || n < 1)
                return false;
        /* The name may hold an end of line; the last one is the kernel's. */
        memcpy(name, text, MIN_OF(n - 1, sizeof(name)));
        process_names_learn(names, tgid, name, now_ns);
        memcpy(ret, name, sizeof(name));
        return true;
}
