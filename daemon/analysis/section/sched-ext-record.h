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

extern const char *const sched_ext_number_names[_SCHED_EXT_NUMBER_MAX];

/* Fills an empty record; all texts are put into @names. JSON_E_MALFORMED with a complaint. */
_must_check_ int sched_ext_record_scan(SchedExtRecord *record, Span json, KeyTree *names,
                                       char ret_complaint[static MEMBER_COMPLAINT_BYTES]);
