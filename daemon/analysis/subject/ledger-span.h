/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LedgerSpan
 *
 * Reads what two snapshots of one boot tell together of threads that ended in between, and of their
 * waits. Only what one ledger, or one account, counted all the time can be
 * subtracted.
 */

#include <stdbool.h>
#include "analysis/account/coverage.h"
#include "analysis/subject/subject.h"

#define LOST_ROWS_BYTES 256

/* The two snapshots have the same ledger of exits. */
bool subjects_share_ledger(const Subject *before, const Subject *after);

/*
 * Says why no one epoch of the account of waits by reason spans both, or @after has none, if there
 * is no @before; NULL: one does. The reason is known after a pass over each. Borrowed from the
 * subjects, or static.
 */
const char *subjects_lack_reasons(const Subject *before, const Subject *after);
/*
 * Says that the ledgers of both take part in an analysis, if they are one: their rows are read
 * then. Call before the first pass. Returns whether they do.
 */
bool subjects_join_ledgers(Subject *before, Subject *after);

/* Describes the rows that lost their names in between, when both were read; NULL: none did. */
const char *subjects_lost_rows(const Subject *before, const Subject *after,
                               char ret_text[static LOST_ROWS_BYTES]);
/*
 * Says why the work of threads that ended in between is not known by their names, although the two
 * have one ledger; NULL: it is known. Rows that were put together to make room stand under other
 * names in the later snapshot than in the earlier one, with all that was counted since the ledger
 * began. Call after a pass over each.
 */
const char *subjects_loss_of_names(const Subject *before, const Subject *after);
/* Call after a pass over each. Its text is borrowed from the subjects, or static. */
CoverageLedger coverage_ledger_of(const Subject *before, const Subject *after);
