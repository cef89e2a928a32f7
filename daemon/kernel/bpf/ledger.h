/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Ledger
 *
 * Reads the ledger of exits in step with the task iterator, so that each thread that lived since
 * the ledger began is either among the living or in one row:
 *
 *     ledger_begin()      the program goes on in another generation; it records single exits
 *     task_table_read()   the living; threads that are in the ledger carry TASK_IS_DEAD
 *     ledger_end()        reads the rows, and adds recorded threads that the table has not alive
 *
 * A thread that hangs in its exit is in a row already and lives on: it is taken out of that row, so
 * that it is counted once, and its record does not carry TASK_IS_DEAD any more.
 *
 * Using it needs no capability. One capture at a time may do so. A capture that dies in between
 * leaves nothing to mend: the next one begins another generation.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/index.h"
#include "base/macro.h"
#include "kernel/bpf/ledger-file.h"
#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/task-object.h"
#include "kernel/bpf/task-table.h"

typedef struct Ledger {
        const TaskObjects *objects; /* borrowed */
        /* The counts of the programs, which change at any time while these run. */
        LedgerControl *control; /* shared with programs, or &without_programs */
        LedgerControl without_programs;
        const LedgerRecord *records;
        LedgerFile *file; /* owned; NULL: there is none */
        bool is_read;     /* ledger_end() has returned 0 since the last ledger_begin() */

        /* after ledger_end() */
        LedgerRow *rows; /* owned */
        size_t n_rows, n_rows_allocated;
        uint64_t n_lost;     /* threads that ended during the capture and are nowhere */
        uint64_t n_exits;    /* threads that the rows count */
        uint64_t n_hanging;  /* threads that were taken out of rows because they live */
        uint64_t n_folded;   /* rows that were put together to make room, since the ledger began */
        uint64_t n_overflow; /* threads that found no row of their own, since the ledger began */

        Index index; /* of the rows by their keys */
        Index paths; /* of the file's rows that have a path, by their cgroups */
        /* A fold notes the keys of rows that go on growing: rows of the same keys must stay. */
        LedgerKey *growing; /* owned */
        size_t n_growing, n_growing_allocated;
        Index growing_index;
        Buffer path; /* room for one */
} Ledger;

/*
 * @objects: those of task_program_load() and a file of rows, where there is one; borrowed as long
 * as the ledger. *ret is NULL when there is neither a page of control words nor a file. A file of
 * another ledger than that of the programs is left out. -EBADMSG when an object is not what it
 * should be, -errno.
 */
_must_check_ int ledger_open(const TaskObjects *objects, Ledger **ret);
Ledger *ledger_free(Ledger *ledger);
DEFINE_CLEANUP(Ledger *, ledger_free);

/* Exits are added: by programs, or what was said of them is in a file. */
bool ledger_is_kept(const Ledger *ledger);
/* The account of waits by reason is on, which adds to the rows of those that end meanwhile. */
bool ledger_counts_reasons(const Ledger *ledger);
/* Without programs all rows are those of the file, and there is nothing to begin or to end. */
LedgerOrigin ledger_origin(const Ledger *ledger);

/* @self: the main process; its threads and children are ctprof's own. -ETIMEDOUT, -errno. */
_must_check_ int ledger_begin(Ledger *ledger, pid_t self);
/* -ETIMEDOUT, -EBADMSG, -errno. */
_must_check_ int ledger_end(Ledger *ledger, TaskTable *table);
/* Stops what ledger_begin() began, if ledger_end() will not be called. */
void ledger_cancel(Ledger *ledger);

/* Instead of both, and without a new generation: rows that tell what owners have lost. -errno. */
_must_check_ int ledger_survey(Ledger *ledger);

/* after ledger_end() */

/*
 * Appends the path of a cgroup as it was when the first thread ended in it. -ENOENT when that is
 * not known or was too long, -errno.
 */
_must_check_ int ledger_cgroup_path(const Ledger *ledger, uint64_t id, Buffer *path);

/* A thread that ended under other names than captures saw it with. */
typedef struct MovedThread {
        MovedLife life;
        MovedEnd end;
} MovedThread;

/*
 * All of these, in the order of lives. *ret is the caller's. Then there is room for more of them,
 * while the programs go on adding: users that come close to their bound lose what is oldest, which
 * is needed least, as it only helps to compare snapshots from before those threads ended. -EBADMSG,
 * -errno.
 */
_must_check_ int ledger_take_moved(Ledger *ledger, MovedThread **ret, size_t *ret_n);

/* Finds the losses of owners, largest first, and when a row that has lost names last grew. */
_must_check_ int ledger_find_losses(const Ledger *ledger, LedgerLoss ret[static LEDGER_MAX_LOSSES],
                                    size_t *ret_n, uint64_t *ret_grew_ns);
/* Exits were lost so often without a number, since the ledger began. */
uint64_t ledger_n_losses(const Ledger *ledger);

/* to look at rows without a capture */

/* Returns 0, or -errno, which ends the visit. */
typedef int (*LedgerVisit)(void *userdata, const LedgerKey *key, const LedgerValues *values);

/*
 * Visits the rows of both generations in the table of the programs, as they are right now: the
 * programs go on adding to them. Rows that a fold has moved out of this table are not among them.
 * -EBADMSG, -errno.
 */
_must_check_ int ledger_visit_rows(const TaskObjects *objects, LedgerVisit visit, void *userdata);
/*
 * A number that is another one when a thread has ended since: no row has grown between two equal
 * ones. Waits until programs that add to rows have come to their end, but not for long.
 */
uint64_t ledger_stamp(LedgerControl *control);

/* to make room */

/* Returns whether a table of the programs is so full that rows should be folded. -errno. */
_must_check_ int ledger_is_crowded(int control_fd);
/* Rows in these tables; 0 where that cannot be told. */
uint64_t ledger_count_rows(int control_fd);
/* Takes what programs have put into the ring of TASK_OBJECT_CALLS, so that it rests. -errno. */
_must_check_ int ledger_hear_calls(int calls_fd);

/*
 * Removes rows from the kernel's table that the file has; then, if the table is still crowded,
 * begins a generation, and returns a file that has the rows of the earlier file and those that rest
 * now. These are removed by the next call, which must borrow that file: so a job may die at any
 * moment, and the file may get lost, without any loss of rows. Calls go on until there is no file.
 * Not while a capture uses the ledger.
 *
 * *ret_fd is the caller's, or negative. -ETIMEDOUT, -EBADMSG, -errno.
 */
typedef struct LedgerFoldOptions {
        uint64_t crowd;         /* rows of a table that is crowded; tests take less */
        size_t max_rows;        /* of the file: LEDGER_FILE_MAX_ROWS; tests take less */
        uint64_t idle_since_ns; /* see ledger-rows.h */
        bool is_forced;         /* whether or not it is crowded */
} LedgerFoldOptions;

#define LEDGER_FOLD_DEFAULTS                                               \
        ((LedgerFoldOptions){ .crowd = (uint64_t) LEDGER_MAX_ROWS / 4 * 3, \
                              .max_rows = LEDGER_FILE_MAX_ROWS })

_must_check_ int ledger_fold(Ledger *ledger, const LedgerFoldOptions *options, int *ret_fd);

/*
 * waits by reason
 *
 * Their account is switched on and off by what captures and the main process write into the page of
 * the programs. It is on for as long as the last one who measured wanted, and the programs
 * themselves switch it off then: nobody has to be there for it. That needs no capability.
 */

enum {
        REASONS_OK,
        REASONS_E_ABSENT, /* no programs that could count are attached */
};

#define REASONS_FOREVER UINT64_MAX

typedef struct ReasonState {
        bool is_on;
        uint64_t epoch, since_boottime_ns;
        uint64_t for_ns;     /* since then */
        uint64_t n_switches; /* of the host, when it began */
        bool has_end;        /* false: nothing ends it */
        uint64_t left_ns;    /* until then */
        uint64_t n_lost;     /* waits for which there was no memory, in all epochs */
} ReasonState;

/*
 * The account is on from here on, for @stay_ns at least. One that was off begins an epoch: all
 * threads that are blocked are given the time from now on. @n_switches: of the host. -errno.
 */
_must_check_ int reasons_start(const TaskObjects *objects, uint64_t stay_ns, uint64_t n_switches);
/* It goes on for @stay_ns at least, if it is on. */
_must_check_ int reasons_prolong(const TaskObjects *objects, uint64_t stay_ns);
/* It is off in @stay_ns from now, or at once when that is 0. */
_must_check_ int reasons_limit(const TaskObjects *objects, uint64_t stay_ns);
_must_check_ int reasons_look(const TaskObjects *objects, ReasonState *ret);

/* No program takes samples from here on, whoever switched them on. */
_must_check_ int sampling_end(const TaskObjects *objects);
/* Gets the state of the recording from the programs; its id is 0 when no recording is on. */
_must_check_ int sampling_look(const TaskObjects *objects, RecordControl *ret);
