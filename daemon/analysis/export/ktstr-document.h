/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KtstrDocument
 *
 * The parts of the prior tool's document besides its threads. Its reader refuses a document that
 * lacks any member but a nullable one, so all are written; what was not read is 0, "", {} or null,
 * whichever it knows for it.
 */

#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/head.h"
#include "snapshot/source.h"

/* One value each, from ours; empty for null. 0 or -ENOMEM. */
_must_check_ int ktstr_write_host(JsonWriter *writer, Span host_json);
_must_check_ int ktstr_write_cgroup(JsonWriter *writer, Span stats_json);
_must_check_ int ktstr_write_psi(JsonWriter *writer, Span psi_json);
_must_check_ int ktstr_write_sched_ext(JsonWriter *writer, Span sched_ext_json);

/*
 * The members probe_summary, parse_summary and taskstats_summary from the counts of the sources;
 * all null when @sources is.
 */
void ktstr_write_summaries(JsonWriter *writer, const SourceTable *sources, const Head *head);
