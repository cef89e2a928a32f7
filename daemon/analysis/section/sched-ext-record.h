/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SchedExtRecord
 *
 * The extensible scheduler class as a snapshot has it: its state, four counters, and while a
 * scheduler was loaded that one's name and events.
 */

#include "analysis/section/count-map.h"

// clang-format off
#define SCHED_EXT_NUMBERS(N) N(switch_all) N(nr_rejected) N(hotplug_seq) N(enable_seq)
// clang-format on

#define SCHED_EXT_NUMBER_ID(name) SCHED_EXT_##name,
enum { SCHED_EXT_NUMBERS(SCHED_EXT_NUMBER_ID) _SCHED_EXT_NUMBER_MAX };

/* Zeroed: there is none. */
typedef struct SchedExtRecord {
        bool has;
        const KeyNode *state, *ops; /* valid UTF-8 under name_escape(); NULL: not known, or empty */
        Reading numbers[_SCHED_EXT_NUMBER_MAX];
        CountMap events; /* owned */
} SchedExtRecord;

/* Fills an empty record; all texts are put into @names. JSON_E_MALFORMED with a complaint. */
_must_check_ int sched_ext_record_scan(SchedExtRecord *record, Span json, KeyTree *names,
                                       char ret_complaint[static MEMBER_COMPLAINT_BYTES]);
/* Exactly one is there, or something in them differs. Both are of the same names. */
bool sched_ext_record_differs(const SchedExtRecord *a, const SchedExtRecord *b);

/* One attribute: a number, or a text; a text that is NULL is not known. */
typedef struct SchedExtRow {
        Span attribute;
        bool is_text;
        const KeyNode *texts[2];
        Reading numbers[2];
} SchedExtRow;

/*
 * The next attribute; false at the end. @position counts from 0; @walk begins zeroed. The five
 * attributes always come, the name and the events where a side has them.
 */
bool sched_ext_next(unsigned n_sides, const SchedExtRecord records[static 2], size_t *position,
                    CountWalk *walk, SchedExtRow *ret);

/* The members of its row; the caller has the object around. */
void sched_ext_members_write(JsonWriter *writer, unsigned n_sides, const SchedExtRow *row);
