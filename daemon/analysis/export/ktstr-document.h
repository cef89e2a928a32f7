/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * KtstrDocument
 *
 * The parts of the prior tool's document other than threads. Its reader refuses a document that
 * lacks any member that is not nullable, so all are written; what was not read becomes 0, "", {} or
 * null, whichever its reader accepts. Its versions name some members differently and ignore those
 * that they do not know, so each is written under all of its names.
 */

#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/head.h"
#include "snapshot/source.h"

typedef enum KtstrPart {
        KTSTR_HOST,
        KTSTR_CGROUP,
        KTSTR_PSI,
        KTSTR_SCHED_EXT,
        KTSTR_PROBE_SUMMARY,
} KtstrPart;

/*
 * Writes one value made of ours in @json. Where that is empty, a cgroup or pressure has zeros, and
 * another part becomes null. 0 or -ENOMEM.
 */
_must_check_ int ktstr_write(JsonWriter *writer, KtstrPart part, Span json);

/*
 * Writes the members probe_summary, null for an empty @probe_json, and parse_summary and
 * taskstats_summary, made of the counts of the sources and null if @sources is NULL. 0 or -ENOMEM.
 */
_must_check_ int ktstr_write_summaries(JsonWriter *writer, Span probe_json,
                                       const SourceTable *sources, const Head *head);
