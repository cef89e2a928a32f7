/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Interface
 *
 * The parts of io.ctprof.Profiler that the daemon and its jobs share: error replies, and the
 * registry as the reply of MetricList. The program decides by the id of an error; only its name
 * crosses the socket.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "interface/error-list.h"
#include "json/json-writer.h"

/* The details of one failure; members that do not apply stay empty. */
typedef struct WireErrorDetail {
        Span subject; /* the value of the error's first parameter, unless that is its reason */
        const char *reason;  /* a sentence or fragment of ours; NULL: none */
        const char *nearest; /* NoSuchSnapshot: a similar name; NULL: there is none */
        bool has_offset;
        uint64_t offset;   /* SnapshotUnreadable */
        bool has_recorder; /* RecordingRuns */
        uint64_t uid, since_realtime_ns, until_realtime_ns;
} WireErrorDetail;

/* The interfaces as the .varlink files describe them. */
extern const char varlink_service_text[];
extern const char profiler_interface_text[];

/* "io.ctprof.Profiler.NoSuchSnapshot" */
extern const char *const wire_error_names[_WIRE_ERROR_MAX];
/* The key of the error's first parameter, "" when it has none. */
extern const char *const wire_error_parameters[_WIRE_ERROR_MAX];
/* _WIRE_ERROR_MAX if there is no such error. */
WireError wire_error_find(Span name);

/* Appends the object of @error's parameters: what error_encode() takes. NULL: no detail. */
_must_check_ int wire_error_encode(Buffer *buffer, WireError error, const WireErrorDetail *detail);
/* Appends the whole frame of an error reply, without terminator. */
_must_check_ int wire_error_encode_reply(Buffer *frame, WireError error,
                                         const WireErrorDetail *detail);

/*
 * Explains the words beside every metric: its section, the rule that reduces it over a group, the
 * scheduling classes that have it and the kernel options it needs. Every word that the registry
 * uses has a term here.
 */
typedef struct LegendTerm {
        const char *name;
        const char *meaning; /* the rest of a sentence, without a full stop */
} LegendTerm;

typedef struct LegendList {
        const char *key;     /* in the answer of MetricList */
        const char *heading; /* for people */
        const LegendTerm *terms;
        size_t n_terms;
} LegendList;

enum { LEGEND_SECTIONS, LEGEND_RULES, LEGEND_CLASSES, LEGEND_GATES, _LEGEND_MAX };

extern const LegendList legend_lists[_LEGEND_MAX];

/* {"metrics": [...], "derived": [...]} and the legend: the reply of MetricList. */
void metric_list_write_json(JsonWriter *writer);
