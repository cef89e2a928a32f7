/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Account
 *
 * Where the time of one group went on one side, and what else it did there: in the interval that
 * the side is about, or in the whole lives of its threads. The parts of time do not overlap:
 *
 *     alive       the sum over the threads of how long each was alive inside
 *     running     run_time_ns
 *     waiting     for a CPU: wait_time_ns
 *     storage     blocked on storage: storage_wait_ns where it was counted all the time, or
 *                 iowait_sum, which are exact; else blkio_delay_total_ns, which is not exact where
 *                 the kernel counts it wrongly or a thread was corrected (judge.h), and then is cut
 *                 to what running and waiting leave of the time
 *     blocked     otherwise: uninterruptible_ns likewise, or block_sum without iowait_sum
 *     asleep      the rest; where blocked is not known, asleep or blocked
 *     reasons     parts of asleep: X_wait_ns for each reason of which reason-list.h says that it is
 *                 one apart, where they were counted all the time
 *
 * sync_wait_ns is beside these: it is part of storage and blocked.
 *
 * The times of one thread are not read at one moment, so the parts can be a little more than the
 * time alive, which is raised to their sum then. A part that is not known counts as nothing in the
 * others, except that without alive, running or waiting nothing is known of asleep.
 */

#include <stdbool.h>
#include <stdint.h>
#include "json/amount.h"
#include "analysis/group/group.h"
#include "json/json-writer.h"
#include "metric/reason-list.h"
#include "view/view-sort.h"

// clang-format off
/* Figures that may be cut, and their members in JSON. */
#define ACCOUNT_FIGURES(F)                                                                         \
        F(RUNNING, "runningNs") F(WAITING, "waitingNs") F(STORAGE, "storageNs")                    \
        F(BLOCKED, "blockedNs") F(SYNC, "syncNs") F(REASONS, "reasons") F(SWITCHES, "switches")    \
        F(READ, "readBytes") F(WRITE, "writeBytes") F(MAJOR_FAULTS, "majorFaults")
// clang-format on
#define ACCOUNT_FIGURE_ID(id, key) ACCOUNT_##id,
typedef enum AccountFigure { ACCOUNT_FIGURES(ACCOUNT_FIGURE_ID) _ACCOUNT_FIGURE_MAX } AccountFigure;

typedef struct Account {
        uint64_t threads;   /* at the end */
        Amount born, ended; /* of the threads of either end: LifeCounts.born and .vanished */
        Amount short_lived; /* born and ended; only the exit accounting tells */
        /*
         * Threads that ended and whose work is not in the figures, because they had other names at
         * the beginning, or what they had done by then is not known. Known if the last is.
         */
        Amount left_out;
        const MemberList
                *started_by; /* of whom the ended were children; NULL: not known; borrowed */
        Amount alive_ns, running_ns, waiting_ns, storage_ns, blocked_ns, asleep_ns;
        bool storage_exact; /* only where storage is known */
        Amount sync_ns;
        Amount reasons_ns[WAIT_REASONS_APART_MAX]; /* all known, or none */
        const char *no_reasons; /* why not; static, or borrowed from the column */
        bool is_of_kernel;
        Amount switches;                /* voluntary or not, both known */
        Amount read_bytes, write_bytes; /* of storage */
        /*
         * False: more than 1.1 times what the disks wrote and dirty memory grew, as write_bytes
         * counts whole folios. Only where write_bytes is known.
         */
        bool write_exact;
        /*
         * Known where it is false: the smaller of that and what system calls were handed, if any.
         */
        Amount write_at_most_bytes;
        Amount major_faults;
        Amount peak_rss_bytes; /* of an interval: where it was reached inside */
        /* Memory but that of files: at the end, and at the beginning of an interval. */
        Amount rss_bytes, rss_before_bytes;
        Amount rss_growth_bytes, heap_growth_bytes; /* inside an interval, at least 0 */
        bool is_cut[_ACCOUNT_FIGURE_MAX]; /* without excess (group-exited.h), if there was any */
} Account;

/*
 * The account of a group, all of whose threads are of the kernel if @is_of_kernel. It borrows from
 * both.
 */
Account account_of(const Column *column, const GroupColumn *of, bool is_of_kernel, Figures figures);
/* The figure that a column of the overview shows. */
Amount account_figure(const Account *account, ViewColumn column);

/*
 * The account of @group in @column; false if there is none, because it has no thread there. A group
 * whose threads all ended in an interval has one that says nothing but how many.
 */
bool group_account(const Group *group, unsigned column, Figures figures, Account *ret);
/*
 * The figure that a column of the overview has of @column, per second where it is a rate of one of
 * two intervals; of memory in an interval by how much it grew. 0 if the group has no part in it.
 * False if it is not known.
 */
bool group_figure(const Group *group, unsigned column, Figures figures, ViewColumn figure,
                  double *ret);

/* Writes the object Account of the interface. */
void account_write_json(JsonWriter *writer, const Account *account);
/* Writes the members of the object Time of the interface, the parts of time alone. */
void account_write_times(JsonWriter *writer, const Account *account);
