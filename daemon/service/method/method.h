/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Method
 *
 * Every method that can be called: its name, its handler, and how a success appears in the journal.
 * Everybody who can connect may call all of them. A method that changes a snapshot of another user
 * is refused by the job, which reads the owner in the head of the file.
 */

#include "interface/error-list.h"
#include "service/request/request.h"

/*        name         handler               recorded as, uses the index of the spool or not */
// clang-format off
#define PROFILER_METHODS(M)                                                                        \
        M(Capture,     method_capture,       CAPTURED, PLAIN)                                      \
        M(List,        method_list,          NOTHING, INDEXED)                                     \
        M(Show,        method_analysis,      NOTHING, INDEXED)                                     \
        M(Compare,     method_analysis,      NOTHING, INDEXED)                                     \
        M(CompareSets, method_analysis,      NOTHING, INDEXED)                                     \
        M(Info,        method_analysis,      NOTHING, INDEXED)                                     \
        M(Record,      method_record,        RECORDED, PLAIN)                                      \
        M(EndRecording, method_end_recording, NOTHING, PLAIN)                                      \
        M(Stacks,      method_analysis,      NOTHING, INDEXED)                                     \
        M(MetricList,  method_metric_list,   NOTHING, PLAIN)                                       \
        M(Verify,      method_verify,        NOTHING, INDEXED)                                     \
        M(Remove,      method_remove,        REMOVED, INDEXED)                                     \
        M(Rename,      method_rename,        RENAMED, INDEXED)                                     \
        M(Export,      method_export,        NOTHING, INDEXED)                                     \
        M(Import,      method_import,        IMPORTED, PLAIN)                                      \
        M(Status,      method_status,        NOTHING, INDEXED)

#define VARLINK_METHODS(M)                                                                         \
        M(GetInfo,                 varlink_get_info,        NOTHING, PLAIN)                        \
        M(GetInterfaceDescription, varlink_get_description, NOTHING, PLAIN)

// clang-format on

int method_capture(Request *request);
int method_list(Request *request);
int method_analysis(Request *request);
int method_metric_list(Request *request);
int method_verify(Request *request);
int method_remove(Request *request);
int method_rename(Request *request);
int method_export(Request *request);
int method_import(Request *request);
int method_record(Request *request);
int method_end_recording(Request *request);
int method_status(Request *request);
int varlink_get_info(Request *request);
int varlink_get_description(Request *request);

/* Writes the member "recording" of the status: who records, since when, and what was sampled. */
void recording_write_status(const Manager *manager, JsonWriter *writer);

/* The last one has no name. In service.c, which calls them. */
extern const Method methods[];
