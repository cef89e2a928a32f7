/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostChange
 *
 * The differences between the hosts of two snapshots. Both host contexts are flattened to lists of
 * key and text ("sched_tunables.sched_rt_runtime_us", "cpufreq_governor.3") and merged; only keys
 * that differ are written. A value that one side does not have is null, which is not the same as
 * "".
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/head.h"

enum {
        HOST_CHANGE_OK,
        HOST_CHANGE_E_MALFORMED, /* not an object, or larger than LIMIT_VALUE_BYTES when flat */
};

/* Controllers of cgroup version 1, which are not read: "cpu, memory", or "". */
#define HOST_CONTEXT_CGROUP_V1 "cgroup_v1"

typedef struct HostFact {
        size_t key;   /* offset in the text; ends with a NUL */
        size_t value; /* likewise */
} HostFact;

/*
 * The facts of one side in ascending order of keys; numbers within keys are compared as numbers.
 * The texts are valid UTF-8 under name_escape(), as in the file. Zeroed: there are none.
 */
typedef struct HostFacts {
        Buffer text;
        HostFact *facts; /* owned */
        size_t n, n_allocated;
        /* Format version 0 records little: what is missing is unknown, not absent on the host. */
        bool is_sparse;
} HostFacts;

void host_facts_done(HostFacts *facts);
/*
 * Adds @json, the host context as a JSON object (empty: unknown), and the facts about the host in
 * @head. HOST_CHANGE_E_MALFORMED.
 */
_must_check_ int host_facts_flatten(HostFacts *facts, Span json, const Head *head);

/*
 * Appends what the host context @json says of @key; false if it says nothing, or is not an object.
 * 0 or -ENOMEM.
 */
_must_check_ int host_context_find(Span json, const char *key, Buffer *ret, bool *ret_found);

/* Writes the array of HostChange. */
void host_changes_write(JsonWriter *writer, const HostFacts *before, const HostFacts *after);
