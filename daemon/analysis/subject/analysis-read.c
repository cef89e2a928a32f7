/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/analysis-read.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/number.h"
#include "analysis/group/judge.h"
#include "analysis/subject/ledger-span.h"

/* merging */

/* One of the two documents and its next thread. */
typedef struct Stream {
        Subject *subject;
        SubjectPass *pass;          /* borrowed */
        const ThreadSample *thread; /* NULL: none is left */
        bool has_last;
        pid_t last_tgid, last_tid;
} Stream;

static int compare_ids(pid_t tgid, pid_t tid, const ThreadSample *other) {
        if (tgid != other->tgid)
                return tgid < other->tgid ? -1 : 1;
        return (tid > other->tid) - (tid < other->tid);
}

int subject_merge(const MergeSide sides[static SIDES], MergeLife on_life, void *userdata,
                  unsigned *ret_culprit) {
        _cleanup_(subject_pass_freep) SubjectPass *before = NULL, *after = NULL;
        SubjectPass **const passes[SIDES] = { &before, &after };
        /* Both sides advance at the start, later each one whose thread was handed on. */
        bool due[SIDES] = { true, true };
        Stream streams[SIDES] = {};
        int r;

        for (unsigned i = 0; i < SIDES; i++) {
                *ret_culprit = i;
                r = subject_pass_new(sides[i].subject, sides[i].visitor, sides[i].userdata,
                                     passes[i]);
                if (r != 0)
                        return r;
                streams[i].subject = sides[i].subject;
                streams[i].pass = *passes[i];
        }
        for (;;) {
                const ThreadSample *a, *b;
                int order;

                for (unsigned i = 0; i < SIDES; i++) {
                        Stream *stream = &streams[i];
                        const ThreadSample *thread;

                        if (!due[i])
                                continue;
                        *ret_culprit = i;
                        r = subject_pass_next(stream->pass, &stream->thread);
                        if (r != 0)
                                return r;
                        thread = stream->thread;
                        if (!thread)
                                continue;
                        if (stream->has_last &&
                            compare_ids(stream->last_tgid, stream->last_tid, thread) >= 0) {
                                SnapshotFault *fault = &stream->subject->fault;

                                *fault = (SnapshotFault){};
                                (void) snprintf(fault->text, sizeof(fault->text),
                                                "its threads are not in the order of their ids, "
                                                "which is needed to follow each one");
                                return SUBJECT_E_UNREADABLE;
                        }
                        stream->has_last = true;
                        stream->last_tgid = thread->tgid;
                        stream->last_tid = thread->tid;
                }
                a = streams[0].thread;
                b = streams[1].thread;
                if (!a && !b)
                        return 0;
                /* The side that has no thread left comes last. */
                if (!a || !b)
                        order = a ? -1 : 1;
                else
                        order = compare_ids(a->tgid, a->tid, b);
                if (order == 0)
                        order = (a->start_ticks > b->start_ticks) -
                                (a->start_ticks < b->start_ticks);
                due[0] = order <= 0;
                due[1] = order >= 0;
                r = on_life(userdata, due[0] ? a : NULL, due[1] ? b : NULL);
                if (r != 0)
                        return err_fold(r);
        }
}

#define THREADS_PER_PROGRESS 512

/* Userdata of the visitors of one pass. */
typedef struct ReadSide {
        AnalysisRead *read;
        unsigned column;
        enum { READ_NAMES, READ_ALONE, READ_MERGED } what;
        Side side;
        JudgeTime time;
        /* Metrics that the two snapshots do not count from the same moment. */
        uint64_t unshared[BITS_WORDS(_METRIC_MAX)];
        const MovedList *moved;            /* of an interval whose ledger takes part; else NULL */
        ExitedSpan *span;                  /* likewise */
        uint64_t implausible[_SOURCE_MAX]; /* values, by source */
} ReadSide;

static void count_implausible(ReadSide *at, const ThreadSample *sample) {
        for (unsigned word = 0; word < ELEMENTSOF(sample->implausible); word++)
                for (uint64_t bits = sample->implausible[word]; bits != 0; bits &= bits - 1) {
                        unsigned id = word * 64 + (unsigned) __builtin_ctzll(bits);

                        at->implausible[metric_table[id].explained_by]++;
                }
}

void analysis_read_expect(AnalysisRead *read, const Subject *subject, unsigned n_times) {
        uint64_t n_threads = subject->head.has_threads ? subject->head.threads : 0;

        read->n_total = number_add_saturating(read->n_total,
                                              number_multiply_saturating(n_threads, n_times));
}

static int read_name(AnalysisRead *read, const ThreadSample *sample) {
        int r = thread_groups_census(&read->table->threads, sample);

        return r == 0 && read->visitor->on_name ? read->visitor->on_name(read->userdata, sample)
                                                : r;
}

static int read_exited_name(void *userdata, const ExitedRow *row) {
        return read_name(((ReadSide *) userdata)->read, &row->sample);
}

static int read_cgroup_name(void *userdata, Span path, Span stats_json) {
        AnalysisRead *read = ((ReadSide *) userdata)->read;
        int r = thread_groups_census_cgroup(&read->table->threads, path);

        return r == 0 && read->visitor->on_cgroup_name
                       ? read->visitor->on_cgroup_name(read->userdata, path)
                       : r;
}

static int read_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        ReadSide *at = userdata;
        AnalysisRead *read = at->read;
        ThreadSample judged;
        int r = 0;

        if (read->n_read++ % THREADS_PER_PROGRESS == 0)
                r = read->visitor->on_progress(read->userdata, read->n_read - 1, read->n_total);
        if (r == 0 && at->what == READ_NAMES)
                return read_name(read, sample);
        if (r == 0 && read->visitor->on_smaps)
                r = read->visitor->on_smaps(read->userdata, at->side, sample, smaps_json);
        if (r != 0 || at->what == READ_MERGED) /* read_life() passes it on */
                return r;
        judged = *sample;
        judge_life((const JudgeTime[SIDES]){ at->time }, &judged, NULL);
        count_implausible(at, &judged);
        return read->visitor->on_thread(read->userdata, at->side, &judged);
}

/* @userdata: both sides. */
static int read_life(void *userdata, const ThreadSample *before, const ThreadSample *after) {
        ReadSide *at = userdata;
        const JudgeTime times[SIDES] = { at[SIDE_BEFORE].time, at[SIDE_AFTER].time };
        const ThreadSample *samples[SIDES] = { before, after };
        AnalysisRead *read = at->read;
        ThreadSample judged[SIDES], *both[SIDES] = { NULL, NULL };

        for (unsigned i = 0; i < SIDES; i++) {
                if (!samples[i])
                        continue;
                both[i] = &judged[i];
                judged[i] = *samples[i];
                for (unsigned word = 0; word < ELEMENTSOF(at->unshared); word++)
                        judged[i].present[word] &= ~at->unshared[word];
        }
        /* The ledger has what it had done by then under the names that it ended with. */
        if (!after && at->moved) {
                moved_list_rename(at->moved, both[SIDE_BEFORE]);
                exited_span_place_vanished(at->span, both[SIDE_BEFORE]);
        }
        judge_life(times, both[SIDE_BEFORE], both[SIDE_AFTER]);
        for (unsigned i = 0; i < SIDES; i++)
                if (both[i])
                        count_implausible(&at[i], both[i]);
        return read->visitor->on_life(read->userdata, both[SIDE_BEFORE], both[SIDE_AFTER]);
}

static int read_exited(void *userdata, const ExitedRow *row) {
        ReadSide *at = userdata;
        AnalysisRead *read = at->read;
        ExitedRow exited = *row;
        int r = 0;

        if (!exited_span_place(at->span, at->side, &exited))
                return 0;
        for (unsigned word = 0; word < ELEMENTSOF(at->unshared); word++)
                exited.sample.present[word] &= ~at->unshared[word];
        if (read->visitor->on_exited)
                r = read->visitor->on_exited(read->userdata, at->side, &exited);
        return r == 0 ? column_table_add_ended(read->table, at->column, at->side, &exited) : r;
}

static int read_cgroup(void *userdata, Span path, Span stats_json) {
        ReadSide *at = userdata;

        return at->read->visitor->on_cgroup(at->read->userdata, at->side, path, stats_json);
}

/*
 * Reads the names of @subject, whose numbers are read in a later pass. A document that is broken
 * where this one looked may be broken before that, so all of it is checked then.
 */
static int pass_names(Subject *subject, const SubjectVisitor *visitor, void *userdata) {
        static const SubjectVisitor check;
        int r;

        r = subject_pass(subject, visitor, userdata);
        if (r != SUBJECT_E_UNREADABLE)
                return r;
        subject->passed = true; /* keep nothing twice */
        r = subject_pass(subject, &check, NULL);
        return r == 0 ? SUBJECT_E_UNREADABLE : r;
}

int analysis_read_names(AnalysisRead *read, Subject *subject) {
        const ThreadKeys *keys = &read->table->threads.keys;
        const SubjectVisitor visitor = {
                .on_thread = read_thread,
                .on_exited = subject->reads_exited ? read_exited_name : NULL,
                .on_cgroup = keys->cgroup && keys->cgroup->has_census ? read_cgroup_name : NULL,
                .names_only = true,
        };
        ReadSide at = { .read = read };

        if (!keys->has_census)
                return 0;
        read->culprit = subject;
        return pass_names(subject, &visitor, &at);
}

static int read_alone(AnalysisRead *read, unsigned column, Side side, Subject *subject) {
        const SubjectVisitor visitor = {
                .on_thread = read_thread,
                .on_cgroup = read->visitor->on_cgroup ? read_cgroup : NULL,
        };
        ReadSide at = { .read = read,
                        .column = column,
                        .what = READ_ALONE,
                        .side = side,
                        .time = judge_time_of(&subject->head) };
        int r;

        read->culprit = subject;
        r = subject_pass(subject, &visitor, &at);
        if (r == 0)
                subject_note_implausible(subject, at.implausible);
        return r;
}

int analysis_read_column(AnalysisRead *read, unsigned column, Side side, Subject *before,
                         Subject *after) {
        bool has_ledger = before && subjects_share_ledger(before, after);
        const SubjectVisitor visitor = {
                .on_thread = read_thread,
                .on_exited = has_ledger ? read_exited : NULL,
                .on_cgroup = read->visitor->on_cgroup ? read_cgroup : NULL,
        };
        static const SubjectVisitor nothing = { .names_only = true };
        Subject *const subjects[SIDES] = { before, after };
        ExitedSpan span = {};
        ReadSide at[SIDES];
        MergeSide sides[SIDES];
        bool share_waits, share_reasons;
        unsigned culprit = 0;
        int r = 0;

        if (!before)
                return read_alone(read, column, side, after);
        /* One account of waits counted in both, since one moment. */
        share_waits = before->head.has_waits_since && after->head.has_waits_since &&
                      before->head.waits_since_boottime_ns == after->head.waits_since_boottime_ns;
        share_reasons = !subjects_lack_reasons(before, after);
        /* The finds of a first pass have to be known before the two are read side by side. */
        for (unsigned i = 0; i < SIDES && has_ledger && r == 0; i++) {
                if (subjects[i]->passed)
                        continue;
                read->culprit = subjects[i];
                r = pass_names(subjects[i], &nothing, NULL);
        }
        if (r == 0 && has_ledger) {
                span = (ExitedSpan){
                        .before = &before->exited,
                        .after = &after->exited,
                        .is_known = before->ledger.has_losses && after->ledger.has_losses &&
                                    before->head.has_start_boottime,
                        .begin_ns = before->head.start_boottime_ns,
                        .grew_ns = after->ledger.folded_grew_boottime_ns,
                };
                r = exited_span_begin(&span);
        }
        if (r != 0)
                return r;
        for (unsigned i = 0; i < SIDES; i++) {
                at[i] = (ReadSide){
                        .read = read,
                        .column = column,
                        .what = READ_MERGED,
                        .side = (Side) i,
                        .time = judge_time_of(&subjects[i]->head),
                        .moved = has_ledger ? &after->moved : NULL,
                        .span = &span,
                };
                for (unsigned id = 0; id < _METRIC_MAX; id++) {
                        SourceId source = metric_table[id].explained_by;

                        if ((source == SOURCE_WAITS && !share_waits) ||
                            (source == SOURCE_REASONS && !share_reasons))
                                bits_set(at[i].unshared, id);
                }
                sides[i] = (MergeSide){ subjects[i], &visitor, &at[i] };
        }
        r = subject_merge(sides, read_life, at, &culprit);
        read->culprit = subjects[culprit];
        after->n_rows_lost = span.n_lost;
        for (unsigned i = 0; i < SIDES && r == 0; i++)
                subject_note_implausible(subjects[i], at[i].implausible);
        if (subjects_loss_of_names(before, after))
                read->table->columns.of[column].lost_names = true;
        return r;
}
