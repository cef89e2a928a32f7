/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostChange
 *
 * What differs between the hosts of two snapshots: both host contexts as flat lists of key and text
 * ("sched_tunables.sched_rt_runtime_us", "cpufreq_governor.3"), merged, and only the keys that
 * differ kept. A value that one side does not have is null there, not a difference from "".
 */

#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/head.h"

enum {
        HOST_CHANGE_OK,
        HOST_CHANGE_E_MALFORMED, /* not an object, or larger flat than LIMIT_VALUE_BYTES */
};

typedef struct HostFact {
        size_t key;   /* where in the text it begins; ended by a NUL */
        size_t value; /* likewise */
} HostFact;

/*
 * One side, ascending by key, numbers inside keys in the order of their values. The texts are valid
 * UTF-8 under name_escape(), as they stood in the file.
 */
typedef struct HostFacts {
        Buffer text;
        Buffer facts; /* of HostFact */
        /* Format version 0 records little: what it lacks is unknown, not absent on the host. */
        bool is_sparse;
} HostFacts;

void host_facts_init(HostFacts *facts);
void host_facts_done(HostFacts *facts);
/*
 * Adds @json, the host context as a JSON object (empty: none is known), and what @head tells of the
 * host besides. HOST_CHANGE_E_MALFORMED.
 */
_must_check_ int host_facts_flatten(HostFacts *facts, Span json, const Head *head);

size_t host_facts_n(const HostFacts *facts);
const char *host_facts_key(const HostFacts *facts, size_t index);
const char *host_facts_value(const HostFacts *facts, size_t index);

/* The array of HostChange. */
void host_changes_write(JsonWriter *writer, const HostFacts *before, const HostFacts *after);
