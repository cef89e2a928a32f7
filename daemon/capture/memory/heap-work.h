/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapWork
 *
 * The calls of the heap step that may never return, for a patient thread: they take the lock of a
 * process's memory, or touch files of any file system. One piece of work at a time is put into its
 * memory, and the results are found there.
 */

#include "capture/heap/memory-question.h"
#include "capture/memory/module-file.h"
#include "capture/memory/module-list.h"
#include "capture/memory/thread-counters.h"
#include "capture/scene/patient-thread.h"

#define HEAP_WORK_FILES 64 /* at once */
#define HEAP_WORK_RANGES HEAP_MODULES_MAX

typedef struct ModuleFile {
        size_t module; /* index in the list */
        FileIdentity identity;
        int result; /* MODULE_FILE_E_* */
        int fd;     /* owned; of HEAP_WORK_OPEN */
} ModuleFile;

typedef enum HeapWorkKind {
        HEAP_WORK_LIST,     /* the modules, and what the program is */
        HEAP_WORK_IDENTIFY, /* the files */
        HEAP_WORK_OPEN,     /* the files, which have been identified */
        HEAP_WORK_WORDS,    /* the ranges, of thread @tid */
        HEAP_WORK_COUNTERS,
        HEAP_WORK_COMMAND, /* what the process was started as */
} HeapWorkKind;

/* Of the arguments of a process: a class path of Java may stand before what tells of it. */
#define HEAP_WORK_ARGUMENT_BYTES 4096

typedef struct HeapWork {
        HeapWorkKind kind;
        int dir_fd; /* borrowed: the directory of a thread of the process */

        int list_result; /* of module_list_read() */
        ModuleList list;
        bool has_program;
        FileIdentity program;

        ModuleFile files[HEAP_WORK_FILES];
        size_t n_files;

        pid_t tid;
        int words_result; /* of process_words_read() */
        WordRange ranges[HEAP_WORK_RANGES];
        size_t n_ranges;
        uint64_t words[HEAP_WORK_RANGES][2]; /* of the ranges */

        CounterRequest counters;

        int proc_fd; /* borrowed */
        MemoryLife life;
        int command_result; /* TEXT_E_* */
        size_t n_arguments;
        char arguments[HEAP_WORK_ARGUMENT_BYTES];
} HeapWork;

extern const PatientWork heap_work;
