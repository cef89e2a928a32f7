/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Smaps
 *
 * The memory maps of processes, added up over those of one key and side. Values are bytes: the
 * kernel's numbers are kB of 1024 bytes.
 */

#include "analysis/section/count-map.h"

typedef struct SmapsEntry {
        CountMap sides[2];
        bool has[2]; /* a process of this key was readable on that side */
        uint64_t rank[2];
} SmapsEntry;

typedef struct Smaps {
        KeyTree processes; /* of SmapsEntry */
        KeyNode **list;    /* in the order of display; NULL before smaps_order() */
        size_t n_listed;   /* all, until somebody leaves some out */
} Smaps;

void smaps_init(Smaps *smaps);
void smaps_done(Smaps *smaps);

static inline SmapsEntry *smaps_entry(KeyNode *node) {
        return (SmapsEntry *) (void *) node->payload;
}

/* Adds one process. JSON_E_MALFORMED with a complaint. */
_must_check_ int smaps_add(Smaps *smaps, unsigned side, Span process, Span json, KeyTree *names,
                           char ret_complaint[static MEMBER_COMPLAINT_BYTES]);
/* Puts the processes under the keys of their names. */
_must_check_ int smaps_regroup(Smaps *smaps, KeyOfName key_of, void *userdata);
/*
 * Orders the processes: of two sides by the distance in Rss, where a side without it counts 0, and
 * then by the larger Rss; of one by Rss, then Pss; then by key.
 */
_must_check_ int smaps_order(Smaps *smaps, unsigned n_sides);
