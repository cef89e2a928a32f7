/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Smaps
 *
 * The memory of processes, added up over those of one key and side: the lines of smaps_rollup, and
 * beside them what the kernel counts of every process, under the names of the metrics. Values are
 * bytes: the kernel's numbers are kB of 1024 bytes.
 *
 * A capture leaves out the rollup of large processes, and of the least of many. A sum that lacks
 * one is no sum: all lines of that key and side are absent then.
 */

#include "analysis/section/count-map.h"
#include "snapshot/thread-sample.h"

/* Says why a capture did not read the rollup of a process; the source tells of failures. */
typedef enum SmapsGap {
        SMAPS_GAP_NONE,
        SMAPS_GAP_SIZE,    /* it was too large */
        SMAPS_GAP_UNASKED, /* others had more memory, and there was a bound to how many are read */
} SmapsGap;

/* Processes of one key and side, by what is known of them. */
typedef struct SmapsCount {
        uint64_t n_counted;      /* the kernel's counts are recorded */
        uint64_t n_rolled_up;    /* smaps_rollup was readable */
        uint64_t n_unasked;      /* SMAPS_GAP_UNASKED */
        uint64_t n_left_out;     /* SMAPS_GAP_SIZE */
        uint64_t left_out_bytes; /* their memory, resident and in swap */
} SmapsCount;

typedef struct SmapsEntry {
        CountMap sides[2];
        SmapsCount counts[2];
        uint64_t rank[2];
} SmapsEntry;

/* Zeroed: empty. */
typedef struct Smaps {
        KeyTree processes; /* with payloads SmapsEntry */
        KeyNode **list;    /* in the order of display; NULL before smaps_order() */
        size_t n_listed;   /* all, until somebody leaves some out */
} Smaps;

void smaps_done(Smaps *smaps);

static inline SmapsEntry *smaps_entry(KeyNode *node) {
        return (SmapsEntry *) (void *) node->payload;
}

/* The key is one of the kernel's counts of every process, and no line of smaps_rollup. */
bool smaps_is_counted(Span key);

/* Adds the rollup of one process. JSON_E_MALFORMED with a complaint. */
_must_check_ int smaps_add(Smaps *smaps, unsigned side, Span process, Span json, KeyTree *names,
                           char ret_complaint[static MEMBER_COMPLAINT_BYTES]);
/*
 * Adds the kernel's counts of the process whose leader @sample is, if there are any, and why there
 * is no rollup of it.
 */
_must_check_ int smaps_add_counts(Smaps *smaps, unsigned side, const ThreadSample *sample,
                                  SmapsGap gap, KeyTree *names);
/* Puts the processes under the keys of their names. */
_must_check_ int smaps_regroup(Smaps *smaps, KeyOfName key_of, void *userdata);
/*
 * Makes absent what is not known: the lines of a rollup that lacks a process that was left out. A
 * side with processes but no rollup has Pss, absent, so that there is a row to say why.
 *
 * Then orders the processes: of two sides by the distance in resident memory, where a side without
 * it counts 0, and then by the larger; of one by resident memory, then Pss; then by key. Resident
 * memory is what the kernel counts, else Rss.
 */
_must_check_ int smaps_order(Smaps *smaps, unsigned n_sides, KeyTree *names);
