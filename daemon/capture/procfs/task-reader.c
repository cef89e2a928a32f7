/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/procfs/task-reader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "capture/batch/process-memory.h"
#include "kernel/procfs/proc-sched.h"
#include "kernel/procfs/proc-task.h"

uint32_t task_reader_find_owner(int dir_fd, const char *path,
                                char file[static PROCFS_BUFFER_BYTES]) {
        ProcStatus status;
        size_t n;

        if (text_file_read(dir_fd, path, file, PROCFS_BUFFER_BYTES, &n) != 0)
                return 0;
        (void) !proc_status_parse((Span){ file, n }, &status);
        return status.has_uid ? status.uid : 0;
}

static int read_text(TaskReader *reader, const ThreadSlot *slot, const char *name, Span *ret) {
        Readings *readings = reader->readings;
        size_t n = 0;
        int r = text_file_read(slot->fd, name, readings->file, sizeof(readings->file), &n);

        *ret = (Span){ readings->file, n };
        return r;
}

/* The same of a file that may wait. */
static int read_waiting(TaskReader *reader, const ThreadSlot *slot, const char *name, Span *ret) {
        const BlockingQuestion file = { .owner = slot->owner, .dir_fd = slot->fd, .name = name };

        if (!reader->is_guarded)
                return read_text(reader, slot, name, ret);
        return blocking_file_read(&reader->readings->blocking, &file, BLOCKING_FILE_LEAST_NS, NULL,
                                  ret);
}

int task_reader_read_stat(TaskReader *reader, const ThreadSlot *slot, Span *ret) {
        return read_waiting(reader, slot, "stat", ret);
}

/*
 * Reads a file that this kernel has for every thread: if it is missing, the thread has gone. False
 * when there is no text; the outcome is noted.
 */
static bool read_file(TaskReader *reader, ThreadSlot *slot, SourceId source, const char *name,
                      Span *ret) {
        int r;

        if (!reader->readings->host->gates.has_file[source]) {
                thread_slot_note(slot, source, SOURCE_OUTCOME_unsupported);
                return false;
        }
        r = source == SOURCE_IO ? read_waiting(reader, slot, name, ret)
                                : read_text(reader, slot, name, ret);
        if (r == 0)
                return true;
        thread_slot_note(slot, source, text_file_outcome(r));
        if (r == TEXT_E_ABSENT || r == TEXT_E_VANISHED)
                thread_slot_vanish(slot);
        return false;
}

/* stat */

#define STAT_METRIC(member, type, number, metric) [PROC_STAT_##member] = (metric),
static const MetricId stat_metrics[_PROC_STAT_MAX] = { PROC_STAT_FIELDS(STAT_METRIC) };

static void read_stat(TaskReader *reader, ThreadSlot *slot) {
        Readings *readings = reader->readings;
        const CaptureSystem *system = readings->host->system;
        ThreadSample *sample = &slot->sample;
        ProcStat stat;
        Span text;
        int r;

        if (reader->is_guarded)
                slot->owner = task_reader_find_owner(slot->fd, "status", readings->file);
        r = task_reader_read_stat(reader, slot, &text);
        slot->seen_ns = system->now_ns(system->userdata);
        if (r != 0) {
                thread_slot_note(slot, SOURCE_STAT, text_file_outcome(r));
                slot->vanished = r == TEXT_E_ABSENT || r == TEXT_E_VANISHED;
                return;
        }
        r = proc_stat_parse(text, &stat);
        thread_slot_note(slot, SOURCE_STAT, text_file_outcome(r));
        if (!stat.has_identity)
                return;
        /*
         * A thread that executes a program takes its leader's number, possibly after the kernel
         * found it by its old one and before the file was made (fs/proc/base.c,
         * proc_task_lookup()). The thread with the number that we asked for has gone then.
         */
        if (stat.pid != slot->tid) {
                thread_slot_note(slot, SOURCE_STAT, SOURCE_OUTCOME_vanished);
                slot->vanished = true;
                return;
        }
        sample->tid = slot->tid;
        sample->start_ticks = stat.starttime;
        sample->has_ppid = stat.present >> PROC_STAT_ppid & 1;
        sample->ppid = stat.ppid;
        sample->has_kthread = stat.present >> PROC_STAT_flags & 1;
        sample->kthread = (stat.flags & PROC_STAT_PF_KTHREAD) != 0;
        thread_sample_put(sample, METRIC_state, (uint64_t) (unsigned char) stat.state);

#define PUT_STAT(member, ...)                                               \
        if (stat_metrics[PROC_STAT_##member] != _METRIC_MAX &&              \
            stat.present >> PROC_STAT_##member & 1)                         \
                thread_sample_put(sample, stat_metrics[PROC_STAT_##member], \
                                  (uint64_t) (int64_t) stat.member);
        PROC_STAT_FIELDS(PUT_STAT)
#undef PUT_STAT

        slot->state = stat.state;
        slot->is_zombie = stat.state == 'Z' || stat.state == 'X';
        slot->policy = stat.present >> PROC_STAT_policy & 1 ? stat.policy : -1;
        /*
         * A thread that the kernel made to work for the process, if it has none of what a C library
         * gives to threads: before 5.12 the flag meant something else.
         */
        slot->is_kernel_worker =
                (stat.flags & (PROC_STAT_PF_IO_WORKER | PROC_STAT_PF_USER_WORKER)) != 0;
        slot->has_space = stat.vsize != 0;
        slot->start_stack = stat.start_stack;
        slot->num_threads = stat.num_threads > 0 ? (uint64_t) stat.num_threads : 0;
        slot->kept = true;
        slot->comm = readings_add_text(readings, stat.comm);
}

/* sched */

// clang-format off
static const struct {
        ProcSchedKey key;
        MetricId metric;
} sched_rows[] = {
#define SCHED_ROW(metric, key, ...) { PROC_SCHED_##key, METRIC_##metric },
        COUNTERS_OF_SCHED(SCHED_ROW)
#define SCHEDSTAT_ROW(key, value, fold, metric, ...) { PROC_SCHED_##key, METRIC_##metric },
        COUNTERS_OF_SCHEDSTATS(SCHEDSTAT_ROW)
        { PROC_SCHED_core_forceidle_sum, METRIC_core_forceidle_sum },
        { PROC_SCHED_slice, METRIC_fair_slice_ns },
};
// clang-format on

/* io */

#define IO_METRIC(metric, ...) [PROC_IO_##metric] = METRIC_##metric,
static const MetricId io_metrics[_PROC_IO_MAX] = { COUNTERS_OF_IO(IO_METRIC) };

/* schedstat */

#define PUT_COUNTER(metric, place, member, needs, from) \
        if ((from).has_##metric)                        \
                thread_sample_put(sample, METRIC_##metric, (from).metric);

static void read_schedstat(TaskReader *reader, ThreadSlot *slot) {
        ThreadSample *sample = &slot->sample;
        ProcSchedstat schedstat;
        Span text;
        int r;

        if (!read_file(reader, slot, SOURCE_SCHEDSTAT, "schedstat", &text))
                return;
        r = proc_schedstat_parse(text, &schedstat);
        thread_slot_note(slot, SOURCE_SCHEDSTAT, text_file_outcome(r));
        COUNTERS_OF_SCHEDSTAT(PUT_COUNTER, schedstat)
}

/* taskstats */

static SourceOutcome error_outcome(int error) {
        switch (-error) {
        case EPERM:
        case EACCES:
                return SOURCE_OUTCOME_denied;
        case EPROTO: /* a struct too old to read */
                return SOURCE_OUTCOME_unsupported;
        case EBADMSG:
                return SOURCE_OUTCOME_malformed;
        default:
                return SOURCE_OUTCOME_other;
        }
}

int task_reader_new(Readings *readings, void **ret) {
        const CaptureSystem *system = readings->host->system;
        TaskReader *reader = calloc(1, sizeof(*reader));
        TaskstatsSocket *socket = NULL;
        int r = readings->host->gates.taskstats;

        if (!reader)
                return -ENOMEM;
        reader->readings = readings;
        reader->n_words = TASK_READER_MASK_WORDS;
        if (r == 0)
                r = system->open_taskstats(system->userdata, &socket);
        reader->taskstats = r == 0 ? socket : NULL;
        reader->no_taskstats = r > 0 ? SOURCE_OUTCOME_unsupported : error_outcome(r);
        *ret = reader;
        return 0;
}

void task_reader_free(void *userdata) {
        TaskReader *reader = userdata;
        const CaptureSystem *system = reader ? reader->readings->host->system : NULL;

        if (reader && reader->taskstats)
                system->close_taskstats(system->userdata, reader->taskstats);
        free(reader);
}

static void note_unanswered(const TaskReader *reader, ThreadSlot *slot, SourceOutcome outcome) {
        const Gates *gates = &reader->readings->host->gates;

        thread_slot_note(slot, SOURCE_TASKSTATS, outcome);
        thread_slot_note(slot, SOURCE_TASKSTATS_DELAY, outcome);
        /* Irq delays do not apply to a kernel that is known to account none: no failure. */
        if (gates->irq_time_accounted || !gates->has_pressure)
                thread_slot_note(slot, SOURCE_TASKSTATS_IRQ, outcome);
}

/* Both files that taskstats replaces. */
static void read_substitutes(TaskReader *reader, ThreadSlot *slot) {
        ThreadSample *sample = &slot->sample;
        ProcStatus status;
        Span text;

        read_schedstat(reader, slot);
        if (!slot->kept || !read_file(reader, slot, SOURCE_STATUS, "status", &text))
                return;
        thread_slot_note(slot, SOURCE_STATUS, text_file_outcome(proc_status_parse(text, &status)));
        COUNTERS_OF_STATUS(PUT_COUNTER, status)
        process_memory_put(slot, &status);
        sample->has_owner = status.has_uid && status.has_gid;
        sample->uid = status.uid;
        sample->gid = status.gid;
        slot->owner = sample->uid;
}

void task_reader_read(TaskReader *reader, ThreadSlot *slot) {
        Readings *readings = reader->readings;
        const CaptureSystem *system = readings->host->system;
        ThreadSample *sample = &slot->sample;
        size_t n_words = 0;
        ProcSched sched;
        uint64_t sleep;
        ProcIo io;
        Span text;
        int r;

        thread_sample_clear(sample);
        read_stat(reader, slot);
        if (!slot->kept)
                return;
        if (!system->read_affinity || readings->host->gates.foreign_pids)
                thread_slot_note(slot, SOURCE_AFFINITY, SOURCE_OUTCOME_unsupported);
        else {
                for (;;) {
                        r = system->read_affinity(system->userdata, slot->tid,
                                                  readings->affinity.mask, reader->n_words,
                                                  &n_words);
                        if (r != -EINVAL || reader->n_words == CPU_LIST_MAX_WORDS)
                                break;
                        reader->n_words = MIN_OF(2 * reader->n_words, (size_t) CPU_LIST_MAX_WORDS);
                }
                /* If the thread has gone, reading through its descriptor will show it. */
                if (r != 0)
                        thread_slot_note(slot, SOURCE_AFFINITY,
                                         text_file_outcome(text_file_code(-r)));
                else
                        readings_put_affinity(readings, slot, n_words);
        }
        if (read_file(reader, slot, SOURCE_SCHED, "sched", &text)) {
                r = proc_sched_parse(text, &sched);
                /* A negative value is an error of the kernel, and of schedstats alone. */
                thread_slot_note(slot, SOURCE_SCHEDSTATS,
                                 sched.has_schedstats ? text_file_outcome(r)
                                                      : SOURCE_OUTCOME_unsupported);
                thread_slot_note(slot, SOURCE_SCHED,
                                 text_file_outcome(sched.negative != 0 ? 0 : r));
                for (size_t i = 0; i < ELEMENTSOF(sched_rows); i++)
                        if (sched.present >> sched_rows[i].key & 1)
                                thread_sample_put(sample, sched_rows[i].metric,
                                                  sched.values[sched_rows[i].key]);
                if (proc_sched_voluntary_sleep(&sched, &sleep))
                        thread_sample_put(sample, METRIC_voluntary_sleep_ns, sleep);
                if (sched.has_ext_enabled)
                        thread_sample_put(sample, METRIC_ext_enabled, sched.ext_enabled);
        } else
                slot->outcomes[SOURCE_SCHEDSTATS] = slot->outcomes[SOURCE_SCHED];
        if (slot->kept && read_file(reader, slot, SOURCE_IO, "io", &text)) {
                thread_slot_note(slot, SOURCE_IO, text_file_outcome(proc_io_parse(text, &io)));
                for (unsigned key = 0; key < _PROC_IO_MAX; key++)
                        if (io.present >> key & 1)
                                thread_sample_put(sample, io_metrics[key], io.values[key]);
        }
        if (slot->kept && !reader->taskstats) {
                note_unanswered(reader, slot, reader->no_taskstats);
                read_substitutes(reader, slot);
        }
}

/*
 * Chooses the members of the struct that are measurements for this thread. A task that was forked
 * while delay accounting was off has no accounting block, and the kernel answers zeros for it for
 * ever. So seven counts of 0 are measurements only where every task must have the block. An irq
 * delay of 0 is a measurement only if the kernel accounts interrupt time, too; a count that is not
 * 0 shows that it does, but does not change the rows that were written before.
 */
static unsigned choose_groups(const TaskReader *reader, ThreadSlot *slot, const Taskstats *answer) {
        const Gates *gates = &reader->readings->host->gates;
        unsigned groups = TASKSTATS_GROUP_BASIC;
        uint64_t irq_count = 0;
        bool accounted, sent = taskstats_get(answer, TASKSTATS_IRQ_COUNT, &irq_count);

        /* The kernel accounts memory only for tasks that have some: a 0 is not a measurement. */
        if (gates->has_xacct_members && !slot->sample.kthread)
                groups |= TASKSTATS_GROUP_XACCT;
        if (gates->has_delay_members)
                groups |= TASKSTATS_GROUP_CPU;

        accounted = gates->has_delay_members &&
                    (gates->delay_trust == DELAY_TRUST_ALWAYS || taskstats_has_delays(answer));
        if (accounted)
                groups |= TASKSTATS_GROUP_DELAY;
        thread_slot_note(slot, SOURCE_TASKSTATS_DELAY,
                         accounted ? SOURCE_OUTCOME_ok : SOURCE_OUTCOME_unsupported);

        if (sent && (irq_count != 0 || (accounted && gates->irq_time_accounted))) {
                groups |= TASKSTATS_GROUP_IRQ;
                thread_slot_note(slot, SOURCE_TASKSTATS_IRQ, SOURCE_OUTCOME_ok);
        } else if (sent && (gates->irq_time_accounted || !gates->has_pressure))
                thread_slot_note(slot, SOURCE_TASKSTATS_IRQ, SOURCE_OUTCOME_unsupported);
        return groups;
}

void task_reader_ask(TaskReader *reader) {
        Readings *readings = reader->readings;
        const CaptureSystem *system = readings->host->system;
        ThreadSlot *slots = readings->slots;
        uint64_t asked_ns;
        size_t n = 0;
        int r;

        if (!reader->taskstats)
                return;
        for (size_t i = 0; i < readings->batch->n_tids; i++)
                if (slots[i].kept) {
                        reader->tids[n] = slots[i].tid;
                        reader->asked[n++] = &slots[i];
                }
        asked_ns = system->now_ns(system->userdata);
        r = system->query_taskstats(reader->taskstats, reader->tids, n, reader->answers);

        for (size_t i = 0; i < n; i++) {
                const Taskstats *answer = &reader->answers[i].stats;
                ThreadSlot *slot = reader->asked[i];
                ThreadSample *sample = &slot->sample;
                int error = r < 0 ? r : reader->answers[i].error;
                uint64_t age_us, age_ns, uid, gid, dev, inode;

                /*
                 * The answer may be about a task that started after stat had been read, because the
                 * tid was reused in between. The kernel took the age after @asked_ns, so a task
                 * that existed when stat was read is at least as old as the time since then; ages
                 * are cut to whole microseconds. A task that is not recognised must have started
                 * within the microseconds that the kernel needed to answer, which the cyclic
                 * allocation of tids rules out in practice.
                 */
                if (error == 0 && taskstats_get(answer, TASKSTATS_AGE_US, &age_us)) {
                        age_ns = number_multiply_saturating(number_add_saturating(age_us, 1), 1000);
                        if (number_add_saturating(slot->seen_ns, age_ns) < asked_ns)
                                error = -ESRCH;
                }
                if (error == -ESRCH) {
                        thread_slot_note(slot, SOURCE_TASKSTATS, SOURCE_OUTCOME_vanished);
                        thread_slot_vanish(slot);
                        continue;
                }
                if (error != 0) {
                        note_unanswered(reader, slot, error_outcome(error));
                        read_substitutes(reader, slot);
                        continue;
                }
                thread_slot_note(slot, SOURCE_TASKSTATS, SOURCE_OUTCOME_ok);
                thread_slot_note(slot, SOURCE_STATUS, SOURCE_OUTCOME_ok);
                taskstats_put_metrics(answer, choose_groups(reader, slot, answer), sample);
                if (taskstats_get(answer, TASKSTATS_UID, &uid) &&
                    taskstats_get(answer, TASKSTATS_GID, &gid)) {
                        sample->has_owner = true;
                        sample->uid = (uid_t) uid;
                        slot->owner = sample->uid;
                        sample->gid = (gid_t) gid;
                }
                /* Encoded as by stat(2); 0 for a task without an executable. */
                if (taskstats_get(answer, TASKSTATS_EXE_DEV, &dev) &&
                    taskstats_get(answer, TASKSTATS_EXE_INODE, &inode) && inode != 0) {
                        sample->has_exe = true;
                        sample->exe_dev = dev;
                        sample->exe_inode = inode;
                }
                if (readings->host->gates.has_delay_members)
                        thread_slot_note(slot, SOURCE_SCHEDSTAT, SOURCE_OUTCOME_ok);
                else
                        read_schedstat(reader, slot);
        }
}
