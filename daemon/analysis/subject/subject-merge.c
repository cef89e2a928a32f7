/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/subject-merge.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/err.h"

/* One of the two documents and its next thread. */
typedef struct Stream {
        Subject *subject;
        SubjectPass *pass;          /* owned */
        const ThreadSample *thread; /* NULL: none is left */
        bool has_last;
        pid_t last_tgid, last_tid;
} Stream;

static void stream_done(Stream *stream) {
        stream->pass = subject_pass_free(stream->pass);
}

static int compare_ids(pid_t tgid, pid_t tid, const ThreadSample *other) {
        if (tgid != other->tgid)
                return tgid < other->tgid ? -1 : 1;
        return (tid > other->tid) - (tid < other->tid);
}

static int stream_step(Stream *stream) {
        const ThreadSample *thread;
        int r;

        r = subject_pass_next(stream->pass, &stream->thread);
        thread = stream->thread;
        if (r != 0 || !thread)
                return r;
        if (stream->has_last && compare_ids(stream->last_tgid, stream->last_tid, thread) >= 0) {
                SnapshotFault *fault = &stream->subject->fault;

                *fault = (SnapshotFault){};
                (void) snprintf(fault->text, sizeof(fault->text),
                                "its threads are not in the order of their ids, which is needed "
                                "to follow each one");
                return SUBJECT_E_UNREADABLE;
        }
        stream->has_last = true;
        stream->last_tgid = thread->tgid;
        stream->last_tid = thread->tid;
        return 0;
}

/* Which thread comes first: -1, 1, or 0 when they are the same. NULL comes last. */
static int compare_lives(const ThreadSample *a, const ThreadSample *b) {
        int order;

        if (!a || !b)
                return !b ? -1 : 1;
        order = compare_ids(a->tgid, a->tid, b);
        if (order != 0)
                return order;
        return (a->start_ticks > b->start_ticks) - (a->start_ticks < b->start_ticks);
}

static int merge(Stream streams[static SIDES], MergeLife on_life, void *userdata,
                 unsigned *ret_culprit) {
        /* Which sides advance: both at the start, then those that were passed on. */
        bool due[SIDES] = { true, true };
        int r;

        for (;;) {
                int order;

                for (unsigned i = 0; i < SIDES; i++) {
                        if (!due[i])
                                continue;
                        *ret_culprit = i;
                        r = stream_step(&streams[i]);
                        if (r != 0)
                                return r;
                }
                if (!streams[0].thread && !streams[1].thread)
                        return 0;
                order = compare_lives(streams[0].thread, streams[1].thread);
                due[0] = order <= 0;
                due[1] = order >= 0;
                r = on_life(userdata, due[0] ? streams[0].thread : NULL,
                            due[1] ? streams[1].thread : NULL);
                if (r != 0)
                        return err_fold(r);
        }
}

int subject_merge(const MergeSide sides[static SIDES], MergeLife on_life, void *userdata,
                  unsigned *ret_culprit) {
        Stream streams[SIDES] = {};
        int r = 0;

        for (unsigned i = 0; i < SIDES && r == 0; i++) {
                const MergeSide *side = &sides[i];

                *ret_culprit = i;
                streams[i].subject = side->subject;
                r = subject_pass_new(side->subject, side->visitor, side->userdata,
                                     &streams[i].pass);
        }
        if (r == 0)
                r = merge(streams, on_life, userdata, ret_culprit);
        for (unsigned i = 0; i < SIDES; i++)
                stream_done(&streams[i]);
        return r;
}
