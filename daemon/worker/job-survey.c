/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "spool/spool-index.h"
#include "wire/limits.h"
#include "worker/work-spool.h"

/* The clock behind change times moves once in a tick of the kernel, every 10 ms at most. */
#define SETTLE_NS (20 * NSEC_PER_MSEC)
/* Somebody who changes the spool all the time must not keep a survey from its end. */
#define MAX_ROUNDS 3

/*
 * Two changes within one tick have one time. Wait until the last change is older than that, so that
 * any further one has another time.
 */
static void settle(const SpoolStamp *stamp) {
        const struct timespec pause = { .tv_nsec = SETTLE_NS };
        uint64_t now_ns;

        now_ns = clock_now_ns(CLOCK_REALTIME);
        if (now_ns >= stamp->change_ns && now_ns - stamp->change_ns < SETTLE_NS)
                (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static int list_unchanged(Spool *spool, SpoolEntry **entries, size_t *n, SpoolStamp *stamp) {
        SpoolStamp after;
        int r = 0;

        for (unsigned round = 0; round < MAX_ROUNDS; round++) {
                spool_entries_free(*entries, *n);
                *entries = NULL;
                *n = 0;
                r = spool_stamp_read(spool_dir_fd(spool), stamp);
                if (r < 0)
                        return r;
                settle(stamp);
                r = spool_list(spool, entries, n);
                if (r == 0)
                        r = spool_stamp_read(spool_dir_fd(spool), &after);
                if (r != 0 || spool_stamp_equal(stamp, &after))
                        return r;
        }
        return r;
}

static void write_entry(const void *userdata, size_t i, JsonWriter *writer) {
        const SpoolEntry *entries = userdata;

        spool_entry_write(writer, &entries[i]);
}

static int tell(Work *work, const SpoolEntry *entries, size_t n, const SpoolStamp *stamp) {
        char reason[128];
        int r;

        if (n > LIMIT_INDEXED_SNAPSHOTS) {
                (void) snprintf(reason, sizeof(reason),
                                "it has %zu snapshots, more than the %u that can be served; "
                                "remove files from its directory",
                                n, LIMIT_INDEXED_SNAPSHOTS);
                return work_refuse(work, WIRE_ERROR_SPOOL_UNAVAILABLE,
                                   &(WireErrorDetail){ .reason = reason });
        }
        r = answer_list(&work->answer, JOB_KEY_ENTRIES, n, write_entry, entries);
        if (r != 0)
                return r;
        spool_stamp_write(answer_begin(&work->answer), JOB_KEY_STAMP, stamp);
        return answer_final(&work->answer);
}

/* An index with what could not be read once is never current, so the next call has it read anew. */
static bool is_whole(const SpoolEntry *entries, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (entries[i].is_unread)
                        return false;
        return true;
}

static int survey(Work *work, Spool *spool) {
        SpoolEntry *entries = NULL;
        SpoolStamp stamp = {};
        size_t n = 0;
        int r;

        r = list_unchanged(spool, &entries, &n, &stamp);
        if (!is_whole(entries, n))
                stamp = (SpoolStamp){};
        r = r == 0 ? tell(work, entries, n, &stamp) : work_refuse_spool(work, spool, "", r);
        spool_entries_free(entries, n);
        return r;
}

typedef struct SurveyCall {
        SpoolParameters spool;
} SurveyCall;

static int work_survey(Work *work) {
        static const Parameter table[] = {
                SPOOL_PARAMETERS(SurveyCall, spool),
        };
        SurveyCall call = { .spool = SPOOL_PARAMETERS_NONE };
        _cleanup_(spool_freep) Spool *spool = NULL;
        int r;

        r = work_decode(work, table, ELEMENTSOF(table), &call);
        if (r == 0)
                r = work_adopt_spool(work, &call.spool, &spool);
        if (r == 0)
                r = survey(work, spool);
        spool_parameters_done(&call.spool);
        return r;
}

const WorkMethod work_survey_methods[] = {
        { JOB_METHOD_SURVEY, work_survey, WORK_NEEDS_MORE, 0 },
        {},
};
