/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * RecordingDocument
 *
 * The third document of a recording's file, beside the snapshots of its two ends: how it was made,
 * what was lost, the samples, and how long waits were. Stacks are lists of frames, the outermost
 * first; a frame is a function of a file or of the kernel. There are no addresses of processes or
 * of the kernel, and no bytes of stacks.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "document/document-reader.h"
#include "json/json-scanner.h"
#include "record/course/course.h"
#include "record/program/module.h"
#include "record/record-scope.h"
#include "record/stack-table.h"
#include "snapshot/snapshot-writer.h"

#define RECORDING_FORMAT_VERSION 1

/* How it was made, and what is missing; every number is in the file under its name here. */
// clang-format off
#define RECORDING_COUNTS(C)                                                                        \
        C(startBoottimeNs,  start_boottime_ns)  /* CLOCK_BOOTTIME */                               \
        C(endBoottimeNs,    end_boottime_ns)                                                       \
        C(periodNs,         period_ns)          /* of sampling, at the end */                      \
        C(clockNs,          clock_ns)           /* between samples of running time */              \
        C(periodChanges,    n_period_changes)   /* it grew so often: too many samples came */      \
        C(stackBytes,       n_stack_bytes)      /* of user mode that were copied */                \
        C(samples,          n_samples)                                                             \
        C(completeStacks,   n_complete)         /* of user mode, down to the first function */     \
        C(cutStacks,        n_cut)                                                                 \
        C(processes,        n_processes)        /* whose files are known */                        \
        C(endedProcesses,   n_lost_processes)   /* that ended before these were read */            \
        C(lostRing,         n_lost_ring)        /* samples: the reader was too slow */             \
        C(lostPending,      n_lost_pending)     /* too many threads were on their way to a CPU */  \
        C(lostStorage,      n_lost_storage)     /* intervals for which there was no memory */      \
        C(lostBusy,         n_busy)             /* another sample was in the way */                \
        C(lateSamples,      n_late)             /* of threads not seen to go on */                 \
        C(unseenSwitches,   n_unseen)           /* threads got a CPU and were not seen to */       \
        C(withoutFrames,    n_without_frames)   /* kernel stacks that could not be read */         \
        C(withoutStack,     n_without_stack)    /* likewise, of user mode */                       \
        C(overflowStacks,   n_overflow)         /* samples for whose stack there was no room */

/* Likewise, where there are steps. */
#define RECORDING_COURSE_COUNTS(C)                                                                 \
        C(everyNs,          every_ns)           /* a step was to last so long */                   \
        C(unsettledSteps,   n_unsettled)        /* read while threads ended */                     \
        C(missedSteps,      n_missed)           /* that became part of the next one */
/* Likewise, where it is told who ends waits. */
#define RECORDING_WAKER_COUNTS(C)                                                                  \
        C(wakes,            n_wakes)            /* wake-ups that were told, or lost */             \
        C(lostWakes,        n_lost_wakes)       /* the reader was too slow */

/* Likewise, where waits were counted by their lengths. */
#define RECORDING_LENGTH_COUNTS(C)                                                                 \
        C(lostLengths,      n_lost_lengths)     /* waits for which there was no row */             \
        C(unknownLengths,   n_unknown_lengths)  /* that had begun before anybody counted */
/* Likewise, where lines of the source were looked for. */
#define RECORDING_LINE_COUNTS(C)                                                                   \
        C(lostLines,        n_lost_lines)       /* frames for which time or memory ran out */
// clang-format on

#define RECORDING_MEMBER(name, member) uint64_t member;
typedef struct RecordingFacts {
        RECORDING_COUNTS(RECORDING_MEMBER)
        RECORDING_WAKER_COUNTS(RECORDING_MEMBER)
        RECORDING_COURSE_COUNTS(RECORDING_MEMBER)
        uint64_t course_places; /* a bit for each RecordPlace that steps have */
        RECORDING_LENGTH_COUNTS(RECORDING_MEMBER)
        RECORDING_LINE_COUNTS(RECORDING_MEMBER)
        bool waiting, running; /* what was sampled */
        bool frames;           /* of the kernel */
        bool pointers;         /* callers of user mode are those that frame pointers lead to */
        bool sees_return;      /* threads were seen when they went on: stacks of user mode */
        bool has_clock;
        RecordEnd ended_by;
        UnclockedTime unclocked; /* of CPUs */
        bool holders;            /* it is told who ends waits for locks */
        bool wakers;             /* and who ends all other waits */
        bool histogram;          /* waits were counted by their lengths */
        bool objects;            /* it is told what waits were on */
        bool lines; /* frames have lines of the source, where there is debugging information */
        RecordScope scope;
} RecordingFacts;

/* Returns true if the recording tells, at least for some waits, which waker ended them. */
static inline bool recording_has_wakers(const RecordingFacts *facts) {
        return facts->holders || facts->wakers;
}

/* Writes the whole document in pieces. -ENOMEM, or what @sink failed with. */
_must_check_ int recording_document_write(const RecordingFacts *facts, const StackTable *table,
                                          const Course *course, const Modules *modules,
                                          SnapshotSink sink, void *userdata);

/*
 * About how large a file with these is, or rather more: tables are numbers, which compress to half
 * of their text, or better.
 */
uint64_t recording_document_estimate(const StackTable *table, const Course *course,
                                     const Modules *modules);

/* Writes the member "recording" of an open object. */
void recording_facts_write(JsonWriter *writer, const RecordingFacts *facts);

/* A document that was read. Its modules have no files. */
typedef struct RecordingDocument {
        RecordingFacts facts;
        StackTable table;
        Course course;
        Modules modules;
} RecordingDocument;

void recording_document_done(RecordingDocument *document);
/*
 * Reads all of it. 0, JSON_E_MALFORMED with the place and the complaint, or a negative errno.
 */
_must_check_ int recording_document_read(JsonRefill refill, void *userdata, uint64_t max_bytes,
                                         RecordingDocument *ret, uint64_t *ret_offset,
                                         char ret_complaint[static DOCUMENT_COMPLAINT_BYTES]);
