/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/ledger-span.h"

#include <stdio.h>
#include <string.h>

bool subjects_share_ledger(const Subject *before, const Subject *after) {
        return before->head.ledger_id[0] != '\0' &&
               strcmp(before->head.ledger_id, after->head.ledger_id) == 0;
}

bool subjects_join_ledgers(Subject *before, Subject *after) {
        bool same = subjects_share_ledger(before, after);

        before->reads_exited = before->reads_exited || same;
        after->reads_exited = after->reads_exited || same;
        return same;
}

const char *subjects_lost_rows(const Subject *before, const Subject *after,
                               char ret_text[static LOST_ROWS_BYTES]) {
        const LedgerSummary *ledger = &after->ledger;
        size_t n;

        if (!subjects_share_ledger(before, after) || after->n_rows_lost == 0)
                return NULL;
        n = (size_t) snprintf(ret_text, LOST_ROWS_BYTES,
                              "to make room, the ledger of exits put rows together in between, and "
                              "%llu lost their names",
                              (unsigned long long) after->n_rows_lost);
        for (size_t i = 0; i < MIN_OF(ledger->n_losses, (size_t) 3) && n < LOST_ROWS_BYTES; i++)
                if (ledger->losses[i].has_owner)
                        n += (size_t) snprintf(ret_text + n, LOST_ROWS_BYTES - n,
                                               "%s uid %llu has lost %llu", i == 0 ? ":" : ",",
                                               (unsigned long long) ledger->losses[i].owner,
                                               (unsigned long long) ledger->losses[i].folded_rows);
        return ret_text;
}

const char *subjects_loss_of_names(const Subject *before, const Subject *after) {
        if (!subjects_share_ledger(before, after) ||
            before->ledger.folded_rows == after->ledger.folded_rows ||
            (before->ledger.has_losses && after->ledger.has_losses))
                return NULL;
        return "the ledger of exits put rows together in between to make room, and lost their "
               "names";
}

/* Explains, as its capture did, why a snapshot lacks what it should have of @source. */
static const char *absence_of(const Subject *subject, SourceId source, const char *otherwise) {
        const SourceTable *sources = subject_sources(subject);
        const char *reason = sources ? sources->sources[source].reason : "";

        return reason[0] != '\0' ? reason : otherwise;
}

const char *subjects_lack_reasons(const Subject *before, const Subject *after) {
        static const char none[] = "waits were not counted by reason";
        static const char not_at_first[] = "waits were not counted by reason at the first snapshot";

        if (after->head.reasons_id[0] == '\0')
                return absence_of(after, SOURCE_REASONS, none);
        if (!before || strcmp(before->head.reasons_id, after->head.reasons_id) == 0)
                return NULL;
        if (before->head.reasons_id[0] == '\0')
                return absence_of(before, SOURCE_REASONS, not_at_first);
        return "counting waits by reason began anew between the two snapshots; with "
               "WaitReasons=always in ctprofd.conf it never ends";
}

CoverageLedger coverage_ledger_of(const Subject *before, const Subject *after) {
        const char *absence = "the ledger of exits began anew between the two snapshots";

        if (subjects_share_ledger(before, after))
                return (CoverageLedger){
                        .known = true,
                        .in_a_row = after->ledger.generation == before->ledger.generation + 1,
                };
        if (after->head.ledger_id[0] == '\0')
                absence = absence_of(after, SOURCE_EXITS, "no ledger of exits was kept");
        else if (before->head.ledger_id[0] == '\0')
                absence = absence_of(before, SOURCE_EXITS,
                                     "no ledger of exits was kept at the first snapshot");
        return (CoverageLedger){ .absence = absence };
}
