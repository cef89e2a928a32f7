/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcessReader
 *
 * What the threads of a process have in common, read once through one of them: name, cgroup,
 * executable, memory. What could disturb the target comes last.
 */

#include <stdbool.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "capture/batch-reader.h"
#include "capture/smaps-reader.h"
#include "capture/thread-slot.h"
#include "kernel/procfs/procfs.h"

typedef struct ProcessReader {
        const BatchScene *scene; /* borrowed */
        Buffer *texts;           /* borrowed */
        Tally *tally;            /* borrowed */
        CgroupSet cgroups;       /* owned */
        SmapsReader *smaps;      /* owned; NULL until it is needed */
        char file[PROCFS_BUFFER_BYTES];
} ProcessReader;

typedef struct ProcessReading {
        bool self; /* a process of ctprof */
        TextPlace name;
        TextPlace smaps; /* JSON */
} ProcessReading;

void process_reader_init(ProcessReader *reader, const BatchScene *scene, Buffer *texts,
                         Tally *tally);
void process_reader_done(ProcessReader *reader);

/*
 * @slots are the process->n threads of @process in this batch. Sets their cgroup and executable; a
 * thread found gone meanwhile vanishes. -ENOMEM.
 */
_must_check_ int process_reader_read(ProcessReader *reader, const BatchProcess *process,
                                     ThreadSlot *slots, ProcessReading *ret);

/* A row was written of a thread in the cgroup @path. -ENOMEM. */
_must_check_ int process_reader_inhabit(ProcessReader *reader, Span path);
