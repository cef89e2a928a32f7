/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/process-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/number.h"
#include "capture/task-reader.h"
#include "kernel/procfs/proc-cgroup.h"
#include "kernel/procfs/proc-smaps.h"
#include "kernel/procfs/proc-stat.h"

#define SMAPS_LEAST_NS (100 * NSEC_PER_MSEC) /* however little is left of the budget */

void process_reader_init(ProcessReader *reader, const BatchScene *scene, Buffer *texts,
                         Tally *tally) {
        reader->scene = scene;
        reader->texts = texts;
        reader->tally = tally;
        cgroup_set_init(&reader->cgroups);
        reader->smaps = NULL;
}

void process_reader_done(ProcessReader *reader) {
        cgroup_set_done(&reader->cgroups);
        reader->smaps = smaps_reader_free(reader->smaps);
}

static ThreadSlot *find_leader(const BatchProcess *process, ThreadSlot *slots) {
        for (size_t i = 0; i < process->n; i++)
                if (slots[i].tid == process->tgid)
                        return &slots[i];
        return NULL;
}

/* cgroup */

/*
 * Reads which cgroup @slot is in and adds its path to the texts. *ret stays as it is when there is
 * none to be had; then the slot vanished, or it was counted why. -ENOMEM.
 */
static int read_cgroup(ProcessReader *reader, ThreadSlot *slot, TextPlace *ret) {
        ProcCgroup cgroup;
        size_t n;
        int r;

        r = procfs_read(slot->fd, "cgroup", reader->file, sizeof(reader->file), &n);
        if (r == PROCFS_E_ABSENT || r == PROCFS_E_VANISHED) {
                thread_slot_vanish(slot);
                return 0;
        }
        if (r == 0)
                r = proc_cgroup_parse((Span){ reader->file, n }, &cgroup);
        if (r != 0) {
                tally_add(reader->tally, SOURCE_CGROUP, text_file_outcome(r));
                return 0;
        }
        tally_add(reader->tally, SOURCE_CGROUP,
                  cgroup.has_path ? SOURCE_OUTCOME_ok : SOURCE_OUTCOME_unsupported);
        return cgroup.has_path ? thread_text_add(reader->texts, cgroup.path, ret) : 0;
}

/* Whoever must be asked thread by thread is; a type that cannot be read may be threaded. */
static CgroupThreading ask_threading(const BatchScene *scene, Span path) {
        _cleanup_(fd_closep) int fd = -EBADF;
        bool threaded;

        if (!scene->cgroupfs || cgroup_path_is_outside(path))
                return CGROUP_THREADING_SPREAD;
        if (span_is(path, "/"))
                return scene->gates->root_is_threaded ? CGROUP_THREADING_SPREAD
                                                      : CGROUP_THREADING_WHOLE;
        if (cgroupfs_open_group(scene->cgroupfs, path, &fd) != 0 ||
            cgroup_is_threaded(fd, &threaded) != 0 || threaded)
                return CGROUP_THREADING_SPREAD;
        return CGROUP_THREADING_WHOLE;
}

static int find_threading(ProcessReader *reader, Span path, CgroupThreading *ret) {
        CgroupEntry *entry;
        int r = cgroup_set_add(&reader->cgroups, path, &entry);

        if (r < 0)
                return r;
        if (entry->threading == CGROUP_THREADING_UNKNOWN)
                entry->threading = ask_threading(reader->scene, entry->path);
        *ret = entry->threading;
        return 0;
}

/* The thread to ask for what all have in common: an exited one may have left its cgroup. */
static ThreadSlot *find_spokesman(const BatchProcess *process, ThreadSlot *slots) {
        ThreadSlot *last = NULL;

        for (size_t i = 0; i < process->n; i++)
                if (slots[i].kept) {
                        if (!thread_slot_is_zombie(&slots[i]))
                                return &slots[i];
                        if (!last)
                                last = &slots[i];
                }
        return last;
}

static int read_cgroups(ProcessReader *reader, const BatchProcess *process, ThreadSlot *slots) {
        CgroupThreading threading = CGROUP_THREADING_WHOLE;
        ThreadSlot *spokesman = NULL;
        TextPlace place = {};
        int r;

        if (!reader->scene->gates->has_file[SOURCE_CGROUP]) {
                tally_add(reader->tally, SOURCE_CGROUP, SOURCE_OUTCOME_unsupported);
                return 0;
        }
        do { /* each time one of the threads less is left to ask */
                spokesman = find_spokesman(process, slots);
                if (!spokesman)
                        return 0;
                r = read_cgroup(reader, spokesman, &place);
                if (r < 0)
                        return r;
        } while (spokesman->vanished);
        if (!place.is_set)
                return 0;
        if (process->n > 1 || process->is_split) {
                r = find_threading(reader, thread_text_get(reader->texts, place), &threading);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < process->n; i++) {
                if (!slots[i].kept)
                        continue;
                if (threading == CGROUP_THREADING_WHOLE || &slots[i] == spokesman)
                        slots[i].cgroup = place;
                else {
                        r = read_cgroup(reader, &slots[i], &slots[i].cgroup);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

int process_reader_inhabit(ProcessReader *reader, Span path) {
        CgroupEntry *entry;
        int r = cgroup_set_add(&reader->cgroups, path, &entry);

        if (r == 0)
                entry->inhabited = true;
        return r;
}

/* executable */

/*
 * For threads that taskstats said nothing about. Attributes that the kernel has at hand will do: a
 * file system that does not answer (a dead NFS server) must not stop the capture.
 */
static void read_executable(const BatchProcess *process, ThreadSlot *slots) {
        const ThreadSample *found = NULL;
        struct statx file;

        for (size_t i = 0; i < process->n; i++) {
                ThreadSample *sample = &slots[i].sample;

                if (!slots[i].kept || sample->has_exe || !slots[i].has_space)
                        continue;
                if (!found) {
                        if (statx(slots[i].fd, "exe", AT_STATX_DONT_SYNC, STATX_INO, &file) < 0)
                                return; /* not permitted, or none: absent */
                        sample->exe_dev = makedev(file.stx_dev_major, file.stx_dev_minor);
                        sample->exe_inode = file.stx_ino;
                        found = sample;
                }
                sample->exe_dev = found->exe_dev;
                sample->exe_inode = found->exe_inode;
                sample->has_exe = true;
        }
}

/* smaps_rollup */

/* A thread of the process that still has its memory; an exited leader has not, its siblings do. */
static const ThreadSlot *find_memory(const BatchProcess *process, const ThreadSlot *slots,
                                     const ThreadSlot *leader) {
        if (!thread_slot_is_zombie(leader))
                return leader->has_space ? leader : NULL;
        for (size_t i = 0; i < process->n; i++)
                if (slots[i].kept && slots[i].has_space && !thread_slot_is_zombie(&slots[i]))
                        return &slots[i];
        return NULL;
}

static int write_smaps(ProcessReader *reader, Span text, TextPlace *ret) {
        size_t at = reader->texts->n;
        ProcSmaps smaps;
        JsonWriter json;
        int r;

        r = proc_smaps_parse(text, &smaps);
        tally_add(reader->tally, SOURCE_SMAPS_ROLLUP, text_file_outcome(r));
        json_writer_init(&json, reader->texts);
        proc_smaps_write_json(&json, &smaps);
        r = json_writer_finish(&json);
        if (r == 0)
                *ret = (TextPlace){ .at = at, .n = reader->texts->n - at, .is_set = true };
        return r;
}

static int skip_smaps(ProcessReader *reader) {
        tally_add(reader->tally, SOURCE_SMAPS_ROLLUP, SOURCE_OUTCOME_other);
        reader->tally->n_smaps_skipped++;
        return 0;
}

/*
 * Reads the file in what is left of the budget, or a little longer. One that does not come in time
 * uses up all of it.
 */
static int ask_smaps(ProcessReader *reader, int dir_fd, Span *ret) {
        const CaptureSystem *system = reader->scene->system;
        SmapsBudget *budget = reader->scene->smaps;
        uint64_t begin_ns, spent_ns = atomic_load(&budget->spent_ns);
        int r = 0;

        if (spent_ns >= budget->limit_ns)
                return -ETIMEDOUT;
        if (!reader->smaps)
                r = smaps_reader_new(&reader->smaps);
        if (r < 0)
                return r;
        begin_ns = system->now_ns(system->userdata);
        r = smaps_reader_read(reader->smaps, dir_fd,
                              MAX_OF(budget->limit_ns - spent_ns, SMAPS_LEAST_NS), ret);
        atomic_fetch_add(&budget->spent_ns, system->now_ns(system->userdata) - begin_ns);
        if (r == -ETIMEDOUT) {
                atomic_fetch_add(&budget->spent_ns, budget->limit_ns);
                reader->smaps = smaps_reader_free(reader->smaps);
        }
        return r;
}

/*
 * Holds the target's mmap lock while the kernel walks its page tables, milliseconds for a large
 * process: hence only where there is memory to measure, and not beyond the capture's budget.
 */
static int read_smaps(ProcessReader *reader, const BatchProcess *process, const ThreadSlot *slots,
                      const ThreadSlot *leader, TextPlace *ret) {
        const ThreadSlot *slot;
        Span text;
        int r;

        if (!reader->scene->smaps->wanted || !(slot = find_memory(process, slots, leader)))
                return 0;
        if (!reader->scene->gates->has_file[SOURCE_SMAPS_ROLLUP]) {
                tally_add(reader->tally, SOURCE_SMAPS_ROLLUP, SOURCE_OUTCOME_unsupported);
                return 0;
        }
        r = ask_smaps(reader, slot->fd, &text);
        if (r == 0)
                return write_smaps(reader, text, ret);
        if (r == -ETIMEDOUT)
                return skip_smaps(reader);
        /* It is exiting and has given up its memory: the rows were whole before that. */
        tally_add(reader->tally, SOURCE_SMAPS_ROLLUP,
                  r == PROCFS_E_ABSENT ? SOURCE_OUTCOME_vanished : text_file_outcome(r));
        return 0;
}

/* leader */

/*
 * Whether all that has been read of the leader is of one task. When another thread executes a
 * program it takes over the leader's number, start time and descriptor, and not its counters
 * (de_thread() of fs/exec.c). What tells is that it lives where the other one had exited, that its
 * address space is a new one, or that a count is less than it was; a leader who executed a program
 * itself is taken for another one, too.
 */
static bool is_same_task(const ThreadSlot *leader, const ProcStat *now) {
        const ThreadSample *sample = &leader->sample;

        /* One after the other may have come and exited: only the living have an executable. */
        if (thread_slot_is_zombie(leader))
                return !sample->has_exe && (now->state == 'Z' || now->state == 'X');
        if (leader->start_stack != 0 && now->start_stack != 0 &&
            now->start_stack != leader->start_stack)
                return false;
        return !thread_sample_has(sample, METRIC_minflt) || !proc_stat_has(now, PROC_STAT_minflt) ||
               now->minflt >= thread_sample_get(sample, METRIC_minflt);
}

/*
 * A process that has one thread when it is read would have to start a second, and that to execute
 * a program, before its last file is read: not worth the reading for each of them.
 */
static void check_leader(ProcessReader *reader, ThreadSlot *leader) {
        ProcStat now;
        size_t n;
        int r;

        if (!leader->kept || leader->num_threads <= 1)
                return;
        r = procfs_read(leader->fd, "stat", reader->file, sizeof(reader->file), &n);
        if (r == 0)
                r = proc_stat_parse((Span){ reader->file, n }, &now);
        if (r == PROCFS_E_ABSENT || r == PROCFS_E_VANISHED ||
            (r == 0 && !is_same_task(leader, &now)))
                thread_slot_vanish(leader);
}

int process_reader_read(ProcessReader *reader, const BatchProcess *process, ThreadSlot *slots,
                        ProcessReading *ret) {
        const BatchScene *scene = reader->scene;
        ThreadSlot *leader = find_leader(process, slots);
        int r;

        for (size_t i = 0; i < scene->n_self_pids; i++)
                ret->self |= scene->self_pids[i] == process->tgid;
        if (leader)
                ret->name = leader->comm;
        r = read_cgroups(reader, process, slots);
        if (r < 0)
                return r;
        read_executable(process, slots);
        r = leader && leader->kept ? read_smaps(reader, process, slots, leader, &ret->smaps) : 0;
        if (r == 0 && leader)
                check_leader(reader, leader);
        return r;
}
