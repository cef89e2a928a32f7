/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Ledger
 *
 * Reads the ledger of the dead in step with the task iterator, so that each thread that lived since
 * the ledger began is either among the living or in one row:
 *
 *     ledger_begin()      the program goes on in another generation; it records single exits
 *     task_table_read()   the living; threads that are in the ledger carry TASK_IS_DEAD
 *     ledger_end()        reads the rows, and adds recorded threads that the table has not alive
 *
 * Using it needs no capability. One capture at a time may do so. A capture that dies in between
 * leaves nothing to mend: the next one begins another generation.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/task-object.h"
#include "kernel/bpf/task-table.h"

typedef struct Ledger Ledger;

typedef struct LedgerRow {
        LedgerKey key; /* of both generations: is_of_odd is 0 */
        LedgerValues values;
} LedgerRow;

/*
 * @objects: those of task_program_load(), borrowed as long as the ledger. *ret is NULL when there
 * is no page of control words among them. -EBADMSG when that is not what it should be, -errno.
 */
_must_check_ int ledger_open(const TaskObjects *objects, Ledger **ret);
Ledger *ledger_free(Ledger *ledger);
DEFINE_CLEANUP(Ledger *, ledger_free);

/* What programs count; numbers of programs that run change at any time. */
const LedgerControl *ledger_control(const Ledger *ledger);
/* The programs that add exits are attached. */
bool ledger_is_kept(const Ledger *ledger);

/* @self: the main process; its threads and children are ctprof's own. -ETIMEDOUT, -errno. */
_must_check_ int ledger_begin(Ledger *ledger, pid_t self);
/* -ETIMEDOUT, -EBADMSG, -errno. */
_must_check_ int ledger_end(Ledger *ledger, const TaskTable *table);
/* Stops what ledger_begin() began, if ledger_end() will not be called. */
void ledger_cancel(Ledger *ledger);

/* ledger_end() has returned 0 since the last ledger_begin(). */
bool ledger_is_read(const Ledger *ledger);

/* after ledger_end() */

size_t ledger_n_rows(const Ledger *ledger);
const LedgerRow *ledger_row(const Ledger *ledger, size_t index);
/* Threads that ended during the capture, and are neither in the table nor in a row. */
uint64_t ledger_n_lost(const Ledger *ledger);
/* Threads that the rows count. */
uint64_t ledger_n_exits(const Ledger *ledger);
/*
 * Appends the path of a cgroup as it was when the first thread ended in it. -ENOENT when that is
 * not known or was too long, -errno.
 */
_must_check_ int ledger_cgroup_path(const Ledger *ledger, uint64_t id, Buffer *path);

/* Adds @from; all the rules of rows in one place. */
void ledger_values_add(LedgerValues *values, const LedgerValues *from);
