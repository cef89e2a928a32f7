/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Job interface
 *
 * The names of io.ctprof.Job, the private interface between the daemon's main process, which writes
 * the calls, and its jobs, which read them. Both are the same executable, so it can change with
 * every version. Analysis jobs also serve Show, Compare, CompareSets, Verify and Info of the public
 * interface, with descriptors in place of names.
 */

#define JOB_INTERFACE "io.ctprof.Job"

#define JOB_METHOD_CAPTURE JOB_INTERFACE ".Capture" /* take a snapshot */
#define JOB_METHOD_KEEP JOB_INTERFACE ".Keep"       /* publish what a capture has written */
#define JOB_METHOD_PROBE JOB_INTERFACE ".Probe"     /* the state of every source */
#define JOB_METHOD_LOAD JOB_INTERFACE ".Load"       /* BPF programs into the kernel */
#define JOB_METHOD_FOLD JOB_INTERFACE ".Fold"       /* rows of the ledger into a file */
#define JOB_METHOD_LISTEN JOB_INTERFACE ".Listen"   /* to exits, for as long as the daemon runs */
#define JOB_METHOD_FILES JOB_INTERFACE ".Files"     /* answer questions about files of others */
#define JOB_METHOD_MEMORY JOB_INTERFACE ".Memory"   /* likewise, about memory of others */
#define JOB_METHOD_CONVERT JOB_INTERFACE ".Convert" /* a snapshot in another format */
#define JOB_METHOD_IMPORT JOB_INTERFACE ".Import"   /* a verified copy of a file from outside */
#define JOB_METHOD_PUBLISH JOB_INTERFACE ".Publish" /* give such a copy its name in the spool */
#define JOB_METHOD_REMOVE JOB_INTERFACE ".Remove"
#define JOB_METHOD_RENAME JOB_INTERFACE ".Rename"
#define JOB_METHOD_CLEAN JOB_INTERFACE ".Clean" /* remove what a crash left in the spool */

/* Parts of "entries" for the index of the main process, then the "stamp" of the directory. */
#define JOB_METHOD_SURVEY JOB_INTERFACE ".Survey"
#define JOB_KEY_ENTRIES "entries"
#define JOB_KEY_STAMP "stamp"
/*
 * The only member of a reply of a spool job that changed the spool, before its last one. It is for
 * the main process alone.
 */
#define JOB_KEY_SPOOL_CHANGE "spoolChange"

/*
 * A reply of a capture job or a probe with a descriptor, before its last one, has this as true. It
 * is for the main process alone, which starts a job of JOB_METHOD_MEMORY with the descriptor as its
 * "socket". A memory job gets one of JOB_METHOD_FILES in the same way.
 */
#define JOB_KEY_MEMORY "memory"
#define JOB_KEY_FILES "files"
#define JOB_KEY_SOCKET "socket"
/*
 * The only member of a reply of a memory job, before its last one: the process that it has left a
 * call for behind, which may never return.
 */
#define JOB_KEY_LEFT "left"
/* Members of a process that is left alone, there and in the order of a memory job. */
#define JOB_KEY_TGID "tgid"
#define JOB_KEY_START_TICKS "startTicks"
#define JOB_KEY_OWNER "owner"
#define JOB_KEY_HUNG "hung"            /* of an order: array of such processes */
#define JOB_KEY_BARRED_OWNERS "barred" /* of an order: array of uids */

/* A oneway call that may follow the call a job serves: come to an end and answer. */
#define JOB_METHOD_STOP JOB_INTERFACE ".Stop"

/*
 * The only reply of a job of JOB_METHOD_LISTEN has this as true: it hears exits from now on. After
 * that it takes oneway calls of JOB_METHOD_TELL, whose descriptor is one end of an exit line
 * (exits/exit-line.h): the other one is the capture's.
 */
#define JOB_KEY_LISTENING "listening"
#define JOB_METHOD_TELL JOB_INTERFACE ".Tell"

/* the spool */
#define JOB_KEY_DIRECTORY "directory"  /* descriptor */
#define JOB_KEY_ROLL "roll"            /* descriptor: see spool-directory.h */
#define JOB_KEY_SPOOL_PATH "spoolPath" /* for messages only */
#define JOB_KEY_LIMITS "limits"        /* object of the next members */
#define JOB_KEY_MAX_BYTES "maxBytes"
#define JOB_KEY_KEEP_FREE_BYTES "keepFreeBytes"
#define JOB_KEY_KEEP_FREE_FILES "keepFreeFiles"
#define JOB_KEY_MAX_AGE_NS "maxAgeNs"
#define JOB_KEY_RESERVED_BYTES "reservedBytes"
#define JOB_KEY_MAX_SNAPSHOTS "maxSnapshots"
#define JOB_KEY_MAX_SNAPSHOTS_PER_UID "maxSnapshotsPerUid"

/* a snapshot to make or change */
#define JOB_KEY_NAME "name"
#define JOB_KEY_NAMES "names"
#define JOB_KEY_NEW_NAME "newName"
#define JOB_KEY_TAGGED "tagged"
#define JOB_KEY_REPLACE "replace"
#define JOB_KEY_UID "uid" /* of the caller */

/* files */
#define JOB_KEY_FILE_DESCRIPTOR "fileDescriptor"
#define JOB_KEY_LABEL "label"       /* what the caller calls the file */
#define JOB_KEY_TO "to"             /* of an interval: the snapshot at its end */
#define JOB_KEY_SNAPSHOT "snapshot" /* object of those two */
#define JOB_KEY_OUTPUT "output"     /* descriptor */
#define JOB_KEY_FILE "file"         /* descriptor: what became of the output */
#define JOB_KEY_FORMAT "format"

/* a capture */
#define JOB_KEY_ANONYMOUS "anonymous"
#define JOB_KEY_SMAPS_MODE "smapsMode"
#define JOB_KEY_SMAPS_MAX_RSS "smapsMaxRssBytes"
#define JOB_KEY_SMAPS_MAX_PROCESSES "smapsMaxProcesses"
#define JOB_KEY_SMAPS_LIMIT_NS "smapsLimitNs"
#define JOB_KEY_HEAP "heap"
#define JOB_KEY_COMMAND_LINES "commandLines"
#define JOB_KEY_HEAP_LIMIT_NS "heapLimitNs"
#define JOB_KEY_HEAP_CACHE "heapCache" /* descriptor: what captures keep for each other */
#define JOB_KEY_HEAP_FILES "heapFiles" /* descriptor: what memory jobs keep for each other */
#define JOB_KEY_NO_MEMORY "noMemory"   /* why there is no memory job, where there should be one */
/*
 * What a job of JOB_METHOD_LOAD or JOB_METHOD_FOLD made: the answer names the objects in the order
 * of its descriptors; an order has a descriptor under each name (kernel/bpf/task-object.h).
 */
#define JOB_KEY_TASKS "tasks"
#define JOB_KEY_REASON "reason"        /* why not all of it is there */
#define JOB_KEY_NO_TASKS "noTasks"     /* the same, in the order of a capture */
#define JOB_KEY_LEDGER "ledger"        /* load what keeps the ledger of the dead */
#define JOB_KEY_FORCED "forced"        /* bool: a fold, however empty the tables are */
#define JOB_KEY_EXIT_LINE "exitLine"   /* descriptor: who hears exits tells of them there */
#define JOB_KEY_NO_EXITS "noExits"     /* why there is no such line, where there should be one */
#define JOB_KEY_WAITS "waits"          /* load what counts waits */
#define JOB_KEY_REASONS_NS "reasonsNs" /* so long waits are counted by reason from now on */
#define JOB_KEY_NO_REASONS "noReasons" /* why they are not switched on */
#define JOB_KEY_SELF_PIDS "selfPids"
#define JOB_KEY_OWN_PROCESSES "ownProcesses"
#define JOB_KEY_ROTATED "rotated" /* names that had to make room */
#define JOB_KEY_SOURCES "sources" /* what the capture said of them; part of the answer */
#define JOB_KEY_OWNERS "owners"   /* who lost names in the ledger of the dead; likewise */
#define JOB_KEY_SAMPLE "sample"   /* what a probe looked at; part of the answer */
