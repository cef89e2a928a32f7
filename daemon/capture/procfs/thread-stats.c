/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/procfs/thread-stats.h"

#include <errno.h>

#include "base/number.h"

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

void thread_stats_init(ThreadStats *stats, Scene *scene) {
        const CaptureSystem *system = scene->host->system;
        const Gates *gates = &scene->host->gates;
        int r = gates->taskstats;

        stats->scene = scene;
        if (!gates->taskstats_asked)
                r = TASKSTATS_E_NO_FAMILY;
        else if (r == 0)
                r = system->open_taskstats(system->userdata, &stats->handle);
        stats->open = r == 0;
        stats->closed_outcome = r > 0 ? SOURCE_OUTCOME_unsupported : error_outcome(r);
}

void thread_stats_done(ThreadStats *stats) {
        if (stats->open)
                stats->scene->host->system->close_taskstats(stats->handle);
        stats->open = false;
}

/* Reading irq delays does not fail on a kernel that is known to account none: it does not apply. */
static bool irq_applies(const Gates *gates) {
        return gates->irq_time_accounted || !gates->has_pressure;
}

static void note_unanswered(const ThreadStats *stats, ThreadSlot *slot, SourceOutcome outcome) {
        thread_slot_note(slot, SOURCE_TASKSTATS, outcome);
        thread_slot_note(slot, SOURCE_TASKSTATS_DELAY, outcome);
        if (irq_applies(&stats->scene->host->gates))
                thread_slot_note(slot, SOURCE_TASKSTATS_IRQ, outcome);
}

static void read_substitutes(TaskReader *reader, ThreadSlot *slot) {
        task_reader_read_schedstat(reader, slot);
        if (slot->kept)
                task_reader_read_status(reader, slot);
}

void thread_stats_read_files(ThreadStats *stats, TaskReader *reader, ThreadSlot *slot) {
        if (stats->open)
                return;
        note_unanswered(stats, slot, stats->closed_outcome);
        read_substitutes(reader, slot);
}

/*
 * Whether the answer is about a task that started after stat had been read, because the tid was
 * reused in between. The kernel took the age after @asked_ns, so a task that existed when stat was
 * read is at least as old as the time since then; ages are cut to whole microseconds. A task that
 * is not recognised must have started within the microseconds that the kernel needed to answer,
 * which the cyclic allocation of tids rules out in practice.
 */
static bool is_another_life(const ThreadSlot *slot, const Taskstats *answer, uint64_t asked_ns) {
        uint64_t age_us, age_ns;

        if (!taskstats_get(answer, TASKSTATS_AGE_US, &age_us))
                return false;
        age_ns = number_multiply_saturating(number_add_saturating(age_us, 1), 1000);
        return number_add_saturating(slot->seen_ns, age_ns) < asked_ns;
}

/*
 * Which of the struct's members are measurements for this thread. A task that was forked while
 * delay accounting was off has no accounting block, and the kernel answers zeros for it for ever.
 * So seven counts of 0 are measurements only where every task must have the block. An irq delay of
 * 0 is a measurement only if the kernel accounts interrupt time, too; a count that is not 0 shows
 * that it does, but does not change the rows that were written before.
 */
static unsigned choose_groups(const ThreadStats *stats, ThreadSlot *slot, const Taskstats *answer) {
        const Gates *gates = &stats->scene->host->gates;
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
        } else if (sent && irq_applies(gates))
                thread_slot_note(slot, SOURCE_TASKSTATS_IRQ, SOURCE_OUTCOME_unsupported);
        return groups;
}

static void take_identity(ThreadSlot *slot, const Taskstats *answer) {
        ThreadSample *sample = &slot->sample;
        uint64_t uid, gid, dev, inode;

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
}

static void take_answer(ThreadStats *stats, TaskReader *reader, ThreadSlot *slot,
                        const Taskstats *answer) {
        thread_slot_note(slot, SOURCE_TASKSTATS, SOURCE_OUTCOME_ok);
        thread_slot_note(slot, SOURCE_STATUS, SOURCE_OUTCOME_ok);
        taskstats_put_metrics(answer, choose_groups(stats, slot, answer), &slot->sample);
        take_identity(slot, answer);
        if (stats->scene->host->gates.has_delay_members)
                thread_slot_note(slot, SOURCE_SCHEDSTAT, SOURCE_OUTCOME_ok);
        else
                task_reader_read_schedstat(reader, slot);
}

void thread_stats_ask(ThreadStats *stats, TaskReader *reader) {
        Scene *scene = stats->scene;
        const CaptureSystem *system = scene->host->system;
        ThreadSlot *slots = scene->slots;
        uint64_t asked_ns;
        size_t n = 0;
        int r;

        if (!stats->open)
                return;
        for (size_t i = 0; i < scene->batch->n_tids; i++)
                if (slots[i].kept) {
                        stats->tids[n] = slots[i].tid;
                        stats->asked[n++] = &slots[i];
                }
        asked_ns = system->now_ns(system->userdata);
        r = system->query_taskstats(stats->handle, stats->tids, n, stats->answers);

        for (size_t i = 0; i < n; i++) {
                ThreadSlot *slot = stats->asked[i];
                int error = r < 0 ? r : stats->answers[i].error;

                if (error == 0 && !is_another_life(slot, &stats->answers[i].stats, asked_ns))
                        take_answer(stats, reader, slot, &stats->answers[i].stats);
                else if (error == 0 || error == -ESRCH) {
                        thread_slot_note(slot, SOURCE_TASKSTATS, SOURCE_OUTCOME_vanished);
                        thread_slot_vanish(slot);
                } else {
                        note_unanswered(stats, slot, error_outcome(error));
                        read_substitutes(reader, slot);
                }
        }
}
