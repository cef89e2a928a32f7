/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitRecord
 *
 * A message of taskstats tells of a thread that ends; this is that in the form of a ledger's row.
 * It lacks what the kernel does for the thread after the message, which is a good part of a short
 * life; the cgroup; migrations, clock ticks and schedstats, which the struct does not have; and
 * I/O, which it rounds down to KiB. These are left out and never 0: the row lacks the bits that
 * they need (TASK_IS_READ, TASK_HAS_IO_CALLS).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/bpf/ledger-file.h"
#include "kernel/taskstats/taskstats-message.h"

/*
 * Subordinates
 *
 * A uid may have been lent to a user for user namespaces (subuid(5)). A message of taskstats has
 * the uid of a thread and no namespace, so that this tells who answers for it; a program sees the
 * namespace itself (owner.bpf.h).
 */

#define SUBORDINATES_MAX 4096u /* ranges; more are not looked at */

typedef struct SubordinateRange {
        uint32_t first, n, owner;
} SubordinateRange;

/* Empty when zeroed. */
typedef struct Subordinates {
        SubordinateRange *ranges; /* owned */
        size_t n, n_allocated;
} Subordinates;

void subordinates_done(Subordinates *subordinates);
/*
 * Takes the lines of a file as /etc/subuid. A user is called by uid, or by a name that @users
 * knows, in the form of /etc/passwd. Lines that say something else are skipped. -ENOMEM.
 */
_must_check_ int subordinates_parse(Subordinates *subordinates, Span lines, Span users);
/* The files of this host, as far as they are there. -errno. */
_must_check_ int subordinates_read(Subordinates *subordinates);
/* @uid where it is lent to nobody. */
uint32_t subordinates_find_owner(const Subordinates *subordinates, uint32_t uid);

/* When the listener took it, and whose threads are ctprof's own. */
typedef struct ExitContext {
        uint64_t now_ns;                  /* CLOCK_BOOTTIME */
        uint64_t begun_ns;                /* likewise: when the rows were last told */
        pid_t self;                       /* the main process; 0: it is not known */
        const LedgerOwn *own;             /* borrowed: who calls; NULL: nobody tells */
        const Subordinates *subordinates; /* borrowed; NULL: none are known */
} ExitContext;

typedef struct ExitRecord {
        pid_t tid, tgid; /* tgid is 0 when the kernel does not tell it: before Linux 5.19 */
        LedgerKey key;   /* without the name of the process */
        LedgerValues values;
} ExitRecord;

ExitRecord exit_record_of(const TaskstatsExit *exit, const ExitContext *context);
